//! Converts HTML to Markdown.
//!
//! Processes a stream of tokens without a tree, so time and memory are linear in the text, whatever the nesting.

use html5gum::{DefaultEmitter, HtmlString, StartTag, Token, Tokenizer};

/// Elements with hidden content.
const HIDDEN: &[&str] = &[
    "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas", "audio", "video",
    "select", "button", "textarea", "noembed", "noframes",
];

/// Elements that begin a new paragraph.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "body",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "html",
    "legend",
    "main",
    "nav",
    "p",
    "section",
    "summary",
    "caption",
];

/// The maximum depth of indented lists.
const MAX_LIST_DEPTH: usize = 16;

/// Converts HTML to Markdown of about this many bytes. Returns whether the text is complete.
///
/// `resolve` makes a link absolute. If it returns nothing, only the text of the link is written.
pub(super) fn to_markdown(
    html: &str,
    most: usize,
    resolve: &dyn Fn(&str) -> Option<String>,
) -> (String, bool) {
    let mut emitter = DefaultEmitter::<()>::default();
    // The contents of scripts and styles are not markup.
    emitter.naively_switch_states(true);
    let mut writer = Writer::new(most, resolve);
    for token in Tokenizer::new_with_emitter(html, emitter).flatten() {
        match token {
            Token::StartTag(tag) => writer.begin(&tag),
            Token::EndTag(tag) => writer.end(&name_of(&tag.name)),
            Token::String(text) => writer.text(&String::from_utf8_lossy(&text.value)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
        if writer.is_full() {
            break;
        }
    }
    let is_whole = !writer.is_full();
    (writer.finish(), is_whole)
}

fn name_of(name: &HtmlString) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// The output so far.
struct Writer<'r> {
    out: String,
    most: usize,
    resolve: &'r dyn Fn(&str) -> Option<String>,
    /// The open hidden element, and its nesting depth.
    hidden: Option<(String, usize)>,
    /// Whether `head` is open. Only its title is shown.
    is_head: bool,
    title: Option<String>,
    /// The open lists: the number of the next item, for numbered lists.
    lists: Vec<Option<u64>>,
    quotes: usize,
    /// The nesting depth of `pre`.
    pre: usize,
    /// The start of the open link's text, and its target.
    link: Option<(usize, String)>,
    /// The number of cells in the open table row.
    cells: Option<usize>,
    /// Whether a row of the open table was written.
    has_row: bool,
    /// Whether the next text begins a paragraph.
    is_new: bool,
    /// Whether a space is needed before the next text.
    space: bool,
}

impl<'r> Writer<'r> {
    fn new(most: usize, resolve: &'r dyn Fn(&str) -> Option<String>) -> Writer<'r> {
        Writer {
            out: String::new(),
            most,
            resolve,
            hidden: None,
            is_head: false,
            title: None,
            lists: Vec::new(),
            quotes: 0,
            pre: 0,
            link: None,
            cells: None,
            has_row: false,
            is_new: false,
            space: false,
        }
    }

    fn is_full(&self) -> bool {
        self.most < self.out.len()
    }

    /// Begins a new paragraph with the next text, except in a table cell.
    fn new_paragraph(&mut self) {
        self.is_new |= self.cells.is_none();
        self.space = true;
    }

    /// Writes the pending line ends and the prefixes of the line.
    fn settle(&mut self) {
        let is_new = std::mem::take(&mut self.is_new);
        if is_new && !self.out.is_empty() {
            while self.out.ends_with(' ') {
                self.out.pop();
            }
            let there = self.out.len() - self.out.trim_end_matches('\n').len();
            for _ in there..2 {
                self.out.push('\n');
            }
            self.margin();
        } else if self.out.is_empty() {
            self.margin();
        } else if self.space && !self.out.ends_with([' ', '\n']) {
            self.out.push(' ');
        }
        self.space = false;
    }

    fn margin(&mut self) {
        for _ in 0..self.quotes.min(MAX_LIST_DEPTH) {
            self.out.push_str("> ");
        }
    }

    /// Writes a mark that is attached to the next text.
    fn mark(&mut self, mark: &str) {
        self.settle();
        self.out.push_str(mark);
    }

    fn text(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        if let Some(title) = &mut self.title {
            title.push_str(text);
            return;
        }
        if self.is_head {
            return;
        }
        if 0 < self.pre {
            self.settle();
            self.out.push_str(text);
            return;
        }
        let mut words = text.split_ascii_whitespace().peekable();
        if words.peek().is_none() {
            self.space |= !text.is_empty();
            return;
        }
        self.space |= text.starts_with(|c: char| c.is_ascii_whitespace());
        self.settle();
        let mut is_first = true;
        for word in words {
            if !is_first {
                self.out.push(' ');
            }
            is_first = false;
            self.out.push_str(word);
        }
        self.space = text.ends_with(|c: char| c.is_ascii_whitespace());
    }

    fn begin(&mut self, tag: &StartTag<()>) {
        let name = name_of(&tag.name);
        if let Some((hidden, depth)) = &mut self.hidden {
            *depth += usize::from(*hidden == name && !tag.self_closing);
            return;
        }
        if HIDDEN.contains(&name.as_str()) {
            if !tag.self_closing {
                self.hidden = Some((name, 1));
            }
            return;
        }
        let attribute = |attribute_name: &str| {
            let found = tag.attributes.iter().find(|(name, _)| name.as_slice() == attribute_name.as_bytes());
            found.map(|(_, value)| String::from_utf8_lossy(&value.value).trim().to_owned())
        };
        match name.as_str() {
            "head" => self.is_head = true,
            "title" => self.title = Some(String::new()),
            "body" => self.is_head = false,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.is_head = false;
                self.new_paragraph();
                let level = usize::from(name.as_bytes()[1] - b'0');
                self.mark(&format!("{} ", "#".repeat(level)));
            }
            "br" => {
                if 0 < self.pre {
                    self.out.push('\n');
                } else if self.cells.is_none() {
                    self.out.push('\n');
                    self.margin();
                }
            }
            "hr" => {
                self.new_paragraph();
                self.mark("---");
                self.new_paragraph();
            }
            "ul" | "menu" => self.list(None),
            "ol" => self.list(Some(attribute("start").and_then(|start| start.parse().ok()).unwrap_or(1))),
            "li" => self.item(),
            "blockquote" => {
                self.new_paragraph();
                self.quotes += 1;
            }
            "pre" => {
                self.new_paragraph();
                if self.pre == 0 {
                    self.mark("```\n");
                }
                self.pre += 1;
            }
            "code" | "kbd" | "samp" if self.pre == 0 => self.mark("`"),
            "strong" | "b" => self.mark("**"),
            "em" | "i" => self.mark("*"),
            "a" => {
                self.close_link();
                if let Some(target) = attribute("href").and_then(|href| (self.resolve)(&href)) {
                    self.settle();
                    self.out.push('[');
                    self.link = Some((self.out.len(), target));
                }
            }
            "img" => {
                if let Some(alt) = attribute("alt").filter(|alt| !alt.is_empty()) {
                    self.text(&alt);
                }
            }
            "table" => {
                self.new_paragraph();
                self.has_row = false;
            }
            "tr" => {
                self.row_end();
                // Rows follow each other without an empty line.
                self.new_paragraph();
                if self.has_row {
                    self.is_new = false;
                    self.out.push('\n');
                    self.margin();
                } else {
                    self.settle();
                }
                self.out.push('|');
                self.space = false;
                self.cells = Some(0);
            }
            "td" | "th" => {
                if let Some(cells) = &mut self.cells {
                    if 0 < *cells {
                        self.out.push_str(" |");
                    }
                    *cells += 1;
                    self.space = true;
                }
            }
            name if BLOCKS.contains(&name) => {
                self.is_head &= name == "html";
                self.new_paragraph();
            }
            _ => {}
        }
    }

    fn list(&mut self, number: Option<u64>) {
        self.new_paragraph();
        if self.lists.len() < 4 * MAX_LIST_DEPTH {
            self.lists.push(number);
        }
    }

    fn item(&mut self) {
        self.new_paragraph();
        if !self.out.is_empty() {
            // Items follow each other without an empty line.
            let end = self.out.trim_end_matches([' ', '\n']).len();
            self.out.truncate(end.max(self.link.as_ref().map_or(0, |(start, _)| *start)));
            self.out.push('\n');
            self.margin();
        }
        self.is_new = false;
        let depth = self.lists.len().clamp(1, MAX_LIST_DEPTH);
        self.out.push_str(&"  ".repeat(depth - 1));
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.out.push_str(&format!("{number}. "));
                *number = number.saturating_add(1);
            }
            _ => self.out.push_str("- "),
        }
        self.space = false;
    }

    /// Ends the open table row. Writes the separator line after the first one.
    fn row_end(&mut self) {
        let Some(cells) = self.cells.take() else { return };
        self.out.push_str(" |");
        if !self.has_row {
            self.out.push('\n');
            self.margin();
            self.out.push('|');
            for _ in 0..cells.clamp(1, 100) {
                self.out.push_str(" --- |");
            }
        }
        self.has_row = true;
        self.space = false;
    }

    fn close_link(&mut self) {
        let Some((start, target)) = self.link.take() else { return };
        if self.out[start..].trim().is_empty() {
            // A link without text is not shown.
            self.out.truncate(start - 1);
        } else {
            self.out.push_str(&format!("]({target})"));
        }
    }

    fn end(&mut self, name: &str) {
        if let Some((hidden, depth)) = &mut self.hidden {
            if hidden == name {
                *depth -= 1;
                if *depth == 0 {
                    self.hidden = None;
                }
            }
            return;
        }
        match name {
            "head" => self.is_head = false,
            "title" => {
                if let Some(title) = self.title.take()
                    && self.out.is_empty()
                {
                    let head = std::mem::take(&mut self.is_head);
                    self.text(&title);
                    self.new_paragraph();
                    self.is_head = head;
                }
            }
            "a" => self.close_link(),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.new_paragraph(),
            "ul" | "ol" | "menu" => {
                self.lists.pop();
                self.new_paragraph();
            }
            "blockquote" => {
                self.quotes = self.quotes.saturating_sub(1);
                self.new_paragraph();
            }
            "pre" if 0 < self.pre => {
                self.pre -= 1;
                if self.pre == 0 {
                    let line = if self.out.ends_with('\n') { "```" } else { "\n```" };
                    self.out.push_str(line);
                }
                self.new_paragraph();
            }
            "code" | "kbd" | "samp" if self.pre == 0 => self.out.push('`'),
            "strong" | "b" => self.out.push_str("**"),
            "em" | "i" => self.out.push('*'),
            "tr" => self.row_end(),
            "table" => {
                self.row_end();
                self.new_paragraph();
            }
            name if BLOCKS.contains(&name) => self.new_paragraph(),
            _ => {}
        }
    }

    fn finish(mut self) -> String {
        self.close_link();
        self.row_end();
        if 0 < self.pre {
            self.out.push_str("\n```");
        }
        self.out.truncate(self.out.trim_end().len());
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn markdown(html: &str) -> String {
        let resolve = |link: &str| link.starts_with('/').then(|| format!("https://a.example{link}"));
        to_markdown(html, 1 << 20, &resolve).0
    }

    #[track_caller]
    fn check(html: &str, expect: &str) {
        assert_eq!(markdown(html), expect, "{html}");
    }

    #[test]
    fn visible_content_becomes_markdown() {
        check(
            "<html><head><title>A  page</title><style>p {}</style></head><body><h1>Head</h1><p>One\n two\
             <br>three</p><script>var a = '<p>no</p>';</script></body></html>",
            "A page\n\n# Head\n\nOne two\nthree",
        );
        check("<p>a <b>b</b> <i>c</i> <code>d</code></p>", "a **b** *c* `d`");
        check("<ul><li>a<li>b<ol start=3><li>c</ol></ul><p>d", "- a\n- b\n  3. c\n\nd");
        check(
            "<a href='/x'>one</a> <a href='javascript:x'>two</a> <a href='/y'></a>",
            "[one](https://a.example/x) two",
        );
        check("<pre>a\n  b</pre><p>c", "```\na\n  b\n```\n\nc");
        check("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "| a | b |\n| --- | --- |\n| 1 | 2 |");
        check("<blockquote><p>a</blockquote><p>b", "> a\n\nb");
        check("a &amp; b &lt;c&gt;", "a & b <c>");
        check("<img alt='a cat' src=x><img src=y>", "a cat");
        check("no markup at all", "no markup at all");
        check("", "");
    }

    #[test]
    fn hostile_markup_ends_and_says_no_more_than_its_text() {
        for html in [
            "<div>".repeat(10_000),
            "<blockquote>".repeat(20_000) + "x",
            "<ul><li>".repeat(20_000),
            "<a href=/x>".repeat(10_000),
            "<table><tr><td>".repeat(10_000),
            "<svg>".repeat(10_000) + "</svg>",
            "</pre></a></ul></table></title></head></blockquote>".repeat(10_000),
            "<b>".repeat(20_000),
            "<!--".repeat(20_000),
            "<p a=".repeat(10_000),
            "&#x0;&#xffffffff;&amp".repeat(10_000),
        ] {
            let (text, _) = to_markdown(&html, 1 << 20, &|_| Some("https://a.example/x".to_owned()));
            assert!(text.len() <= (1 << 20) + (64 << 10), "{}", &html[..20]);
        }
        check("<script>a</script >b<style></p></style>c<noscript>d</noscript>", "bc");
    }

    #[test]
    fn a_long_page_is_cut() {
        let (text, is_whole) = to_markdown(&"<p>word</p>".repeat(1000), 100, &|_| None);
        assert!(!is_whole && text.len() < 120, "{}", text.len());
    }
}
