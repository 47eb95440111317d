//! A table that is Markdown and, since its cells are padded, can be read on a terminal as well.

use std::fmt;

/// How the cells of a column stand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows of text under headings.
pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: &[(&str, Align)]) -> Self {
        Self { columns: columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect(), rows: Vec::new() }
    }

    /// Adds a row; cells that are missing at its end are empty.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let mut cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        assert!(cells.len() <= self.columns.len(), "a row has no more cells than there are columns");
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    /// Characters that column `index` needs; three at least, for the dashes under its heading.
    fn width(&self, index: usize) -> usize {
        let cells = self.rows.iter().map(|row| &row[index]).chain([&self.columns[index].0]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(3)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<usize> = (0..self.columns.len()).map(|index| self.width(index)).collect();
        let mut line = |cells: Vec<&str>| {
            for ((cell, width), (_, align)) in cells.iter().zip(&widths).zip(&self.columns) {
                match align {
                    Align::Left => write!(f, "| {cell:<width$} ")?,
                    Align::Right => write!(f, "| {cell:>width$} ")?,
                }
            }
            writeln!(f, "|")
        };
        line(self.columns.iter().map(|(name, _)| name.as_str()).collect())?;
        let dashes: Vec<String> = widths
            .iter()
            .zip(&self.columns)
            .map(|(width, (_, align))| match align {
                Align::Left => "-".repeat(*width),
                Align::Right => format!("{}:", "-".repeat(width - 1)),
            })
            .collect();
        line(dashes.iter().map(String::as_str).collect())?;
        self.rows.iter().try_for_each(|row| line(row.iter().map(String::as_str).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_padded_to_their_column() {
        let mut table = Table::new(&[("a", Align::Left), ("µs", Align::Right), ("wide heading", Align::Left)]);
        table.row(["x–y–z", "1"]);
        table.row(["", "1000", "b"]);
        let expected = "\
            | a     |   µs | wide heading |\n\
            | ----- | ---: | ------------ |\n\
            | x–y–z |    1 |              |\n\
            |       | 1000 | b            |\n";
        assert_eq!(table.to_string(), expected);
    }
}
