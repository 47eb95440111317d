//! A chart of horizontal bars as SVG: panels one above the other, in each a group of bars for every name. Draws and measures nothing.
//!
//! It brings its own background, so it can be read on a page of any colour, and turns dark where the reader prefers that.

use std::fmt::Write;

/// All lengths are in SVG's user units, pixels unless the page scales the chart.
const WIDTH: f64 = 880.0;
const MARGIN: f64 = 24.0;
/// Where bars begin: names stand to the left of it.
const BARS_X: f64 = 170.0;
/// Room for a figure to the right of the longest bar.
const FIGURE_WIDTH: f64 = 70.0;
const BAR_HEIGHT: f64 = 12.0;
const GROUP_GAP: f64 = 9.0;
const PANEL_HEAD: f64 = 40.0;
const LINE_HEIGHT: f64 = 17.0;
const TITLE_HEIGHT: f64 = 56.0;

/// Letters of the caption that fit in a line.
const CAPTION_LETTERS: usize = 130;

const IN_MEMORY: &str = "writing to a String cannot fail";

const STYLE: &str = "\
.card{fill:#ffffff;stroke:#d0d7de}.text{fill:#1f2328}.faint{fill:#59636e}.axis{stroke:#d0d7de}\
.s0{fill:#8c959f}.s1{fill:#c4cad1}.own.s0{fill:#cf5b1d}.own.s1{fill:#eda677}\
text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;font-size:13px}\
.title{font-size:17px;font-weight:600}.panel{font-size:14px;font-weight:600}.figure{font-size:11px}.small{font-size:11.5px}.bold{font-weight:700}\
@media(prefers-color-scheme:dark){.card{fill:#0d1117;stroke:#3d444d}.text{fill:#f0f6fc}.faint{fill:#9198a1}.axis{stroke:#3d444d}\
.s0{fill:#7d8590}.s1{fill:#4a515a}.own.s0{fill:#f0883e}.own.s1{fill:#a85a22}}";

/// What is drawn.
pub(crate) struct Chart {
    pub(crate) title: String,
    /// What the bars of a group are, in their order: two at most have a colour of their own.
    pub(crate) series: [&'static str; 2],
    pub(crate) panels: Vec<Panel>,
    /// Below everything, broken into lines where it is long.
    pub(crate) caption: String,
}

/// Groups of bars with a scale of their own, from zero to the longest.
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) groups: Vec<Group>,
}

/// The bars of one name.
pub(crate) struct Group {
    pub(crate) name: String,
    /// Drawn in the colour that stands out.
    pub(crate) emphasis: Emphasis,
    pub(crate) values: [f64; 2],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Emphasis {
    Own,
    Other,
}

impl Chart {
    pub(crate) fn svg(&self) -> String {
        let mut body = String::new();
        let mut y = MARGIN + 14.0;
        text(&mut body, "text title", MARGIN, y, &self.title);
        self.legend(&mut body, y + 24.0);
        y = TITLE_HEIGHT + MARGIN;
        for panel in &self.panels {
            y = panel.draw(&mut body, y);
        }
        y += 18.0;
        for line in wrap(&self.caption, CAPTION_LETTERS) {
            y += LINE_HEIGHT;
            text(&mut body, "faint small", MARGIN, y, &line);
        }
        let height = y + MARGIN;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
             role=\"img\" aria-label=\"{title}\">\n<style>{STYLE}</style>\n\
             <rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n{body}</svg>\n",
            WIDTH - 1.0,
            height - 1.0,
            title = escape(&self.title),
        )
    }

    /// A square and a word for each series, in both colours.
    fn legend(&self, out: &mut String, y: f64) {
        let mut x = MARGIN;
        for (index, name) in self.series.iter().enumerate() {
            for own in ["own ", ""] {
                rect(out, &format!("{own}s{index}"), x, y - 10.0, 11.0, 11.0);
                x += 15.0;
            }
            text(out, "faint", x + 2.0, y, name);
            x += 60.0;
        }
    }
}

impl Panel {
    /// Draws from `top` and returns where the next panel begins.
    fn draw(&self, out: &mut String, top: f64) -> f64 {
        let longest = self.groups.iter().flat_map(|group| group.values).fold(0.0, f64::max);
        let scale = if longest > 0.0 { (WIDTH - MARGIN - FIGURE_WIDTH - BARS_X) / longest } else { 0.0 };
        text(out, "text panel", MARGIN, top + 20.0, &self.title);
        let mut y = top + PANEL_HEAD;
        for group in &self.groups {
            let (own, bold) = if group.emphasis == Emphasis::Own { ("own ", " bold") } else { ("", "") };
            end_text(out, &format!("text{bold}"), BARS_X - 10.0, y + BAR_HEIGHT + 4.0, &group.name);
            for (index, value) in group.values.iter().enumerate() {
                rect(out, &format!("{own}s{index}"), BARS_X, y, value * scale, BAR_HEIGHT);
                text(out, &format!("text figure{bold}"), BARS_X + value * scale + 6.0, y + BAR_HEIGHT - 2.0, &figure(*value));
                y += BAR_HEIGHT;
            }
            y += GROUP_GAP;
        }
        writeln!(
            out,
            "<line class=\"axis\" x1=\"{BARS_X}\" x2=\"{BARS_X}\" y1=\"{:.1}\" y2=\"{:.1}\"/>",
            top + PANEL_HEAD - 4.0,
            y - GROUP_GAP + 4.0
        )
        .expect(IN_MEMORY);
        y + 6.0
    }
}

/// Three digits are as many as the figures are worth.
fn figure(value: f64) -> String {
    let digits = if value < 10.0 { 2 } else { 1 };
    format!("{value:.digits$}")
}

fn rect(out: &mut String, class: &str, x: f64, y: f64, width: f64, height: f64) {
    writeln!(out, "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>")
        .expect(IN_MEMORY);
}

fn text(out: &mut String, class: &str, x: f64, y: f64, words: &str) {
    writeln!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape(words)).expect(IN_MEMORY);
}

fn end_text(out: &mut String, class: &str, x: f64, y: f64, words: &str) {
    writeln!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>", escape(words))
        .expect(IN_MEMORY);
}

fn escape(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Breaks at blanks; a word longer than a line stands alone.
fn wrap(words: &str, letters: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words.split_ascii_whitespace() {
        let line = lines.last_mut().expect("begun with one line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= letters {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, emphasis: Emphasis, values: [f64; 2]) -> Group {
        Group { name: name.to_owned(), emphasis, values }
    }

    #[test]
    fn bars_are_as_long_as_their_values() {
        let groups = vec![group("a<b", Emphasis::Own, [1.0, 2.0]), group("c", Emphasis::Other, [4.0, 0.0])];
        let panels = vec![Panel { title: "P & Q".to_owned(), groups }];
        let svg = Chart { title: "\"T\"".to_owned(), series: ["GET", "SET"], panels, caption: "x".to_owned() }.svg();
        let bars: Vec<(&str, f64)> = svg
            .lines()
            .filter(|line| line.starts_with("<rect") && line.contains("x=\"170.0\""))
            .map(|line| {
                let field = |name: &str| line.split(name).nth(1).and_then(|rest| rest.split('"').next()).expect("a field");
                (field("class=\""), field("width=\"").parse().expect("a number"))
            })
            .collect();
        assert_eq!(bars, [("own s0", 154.0), ("own s1", 308.0), ("s0", 616.0), ("s1", 0.0)]);
        assert!(
            svg.contains(">a&lt;b</text>") && svg.contains(">P &amp; Q</text>") && svg.contains("aria-label=\"&quot;T&quot;\"")
        );
    }

    #[test]
    fn long_captions_are_broken_at_blanks() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a considerably b", 4), ["a", "considerably", "b"]);
    }
}
