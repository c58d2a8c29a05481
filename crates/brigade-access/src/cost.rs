//! What a listing costs a client: bytes, and tokens of the model that reads it.

use std::collections::BTreeMap;

use brigade_core::json::to_json;
use brigade_macros::part;
use brigade_policy::RiskLevel;
use serde::Serialize;

use crate::control::control_tools;
use crate::gateway::Listing;
use crate::listed::ListedTool;
use crate::names::NameStyle;
use crate::tool_rows::{FoundTools, ToolDescription, ToolRow};

/// Estimates the tokens of JSON or plain text.
///
/// Eight letters, three digits or four punctuation marks of a run are one token, and so is any other character. On tool
/// listings and schemas, this is within 15 % of the tokenizers `cl100k_base` and `o200k_base`.
pub fn estimated_tokens(text: &str) -> u64 {
    #[derive(Clone, Copy, PartialEq)]
    enum Kind {
        Letters,
        Digits,
        Marks,
        Blank,
        Other,
    }
    let kind_of = |c: char| match c {
        'a'..='z' | 'A'..='Z' => Kind::Letters,
        '0'..='9' => Kind::Digits,
        c if c.is_ascii_whitespace() => Kind::Blank,
        c if c.is_ascii() => Kind::Marks,
        _ => Kind::Other,
    };
    let cost = |kind: Kind, length: u64| match kind {
        Kind::Letters => length.div_ceil(8),
        Kind::Digits => length.div_ceil(3),
        Kind::Marks => length.div_ceil(4),
        Kind::Blank => 0,
        Kind::Other => length,
    };
    let mut tokens = 0;
    let (mut run, mut length) = (Kind::Blank, 0);
    for c in text.chars() {
        let kind = kind_of(c);
        if kind != run {
            tokens += cost(run, length);
            (run, length) = (kind, 0);
        }
        length += 1;
    }
    tokens + cost(run, length)
}

/// The size of a text.
#[part(Copy, Default, PartialEq, Eq)]
pub struct TextSize {
    /// Bytes.
    pub bytes: u64,
    /// Estimated tokens.
    pub tokens: u64,
}

impl TextSize {
    fn new(text: &str) -> TextSize {
        TextSize { bytes: text.len() as u64, tokens: estimated_tokens(text) }
    }

    fn plus(self, other: TextSize) -> TextSize {
        TextSize { bytes: self.bytes + other.bytes, tokens: self.tokens + other.tokens }
    }

    fn times(self, count: u64) -> TextSize {
        TextSize { bytes: self.bytes * count, tokens: self.tokens * count }
    }

    fn per(self, count: u64) -> TextSize {
        let count = count.max(1);
        TextSize { bytes: self.bytes.div_ceil(count), tokens: self.tokens.div_ceil(count) }
    }
}

/// The cost of one way of listing.
#[part(PartialEq, Eq)]
pub struct ListingCost {
    /// How tools are listed.
    pub list: Listing,
    /// The whole listing, control tools included.
    #[serde(flatten)]
    pub size: TextSize,
    /// The tools in it.
    pub tool_count: usize,
}

/// The cost of one tool in a listing.
#[part(PartialEq, Eq)]
pub struct ToolCost {
    /// The listed name.
    pub name: String,
    /// The id.
    pub id: String,
    /// In a full listing.
    pub full: TextSize,
    /// In a compact listing.
    pub compact: TextSize,
}

/// The cheapest way of listing for a session with this number of calls.
#[part(PartialEq, Eq)]
pub struct CheapestListing {
    /// The number of calls.
    pub calls: u64,
    /// How tools are listed.
    pub list: Listing,
    /// The cost of the listing and its extra turns, without the calls.
    #[serde(flatten)]
    pub size: TextSize,
}

/// The costs of the three ways of listing.
///
/// A client reads a listing once. With a compact listing, it then asks for the description of each tool that it calls.
/// With `search`, it also searches first.
#[part(PartialEq, Eq)]
pub struct ListingCosts {
    /// The listings: full, compact, search.
    pub listings: Vec<ListingCost>,
    /// The extra turn of asking for a description.
    pub describe_turn: TextSize,
    /// The extra turn of searching.
    pub search_turn: TextSize,
    /// The cheapest way for 1, 5 and 20 calls.
    pub cheapest: Vec<CheapestListing>,
    /// The smallest number of calls for which the full listing is the cheapest.
    pub full_from_calls: Option<u64>,
    /// The tools, by id.
    pub tools: Vec<ToolCost>,
}

/// A visible tool in the forms of both listings.
#[derive(Clone, Debug)]
pub struct CostedTool {
    /// The id.
    pub id: String,
    /// In a full listing.
    pub full: ListedTool,
    /// In a compact listing.
    pub compact: ListedTool,
    /// In the results of a search.
    pub row: ToolRow,
}

/// The number of results of a search, if there are enough tools.
const RESULTS: u64 = 20;

/// The words of a usual search.
const QUERY: &str = "words that describe the task";

/// The numbers of calls that are compared.
const CALLS: [u64; 3] = [1, 5, 20];

/// Computes the cost of listing these tools and the control tools.
pub fn listing_costs(tools: &[CostedTool], names: NameStyle) -> ListingCosts {
    let rows: Vec<ToolCost> = tools
        .iter()
        .map(|tool| ToolCost {
            name: tool.full.name.clone(),
            id: tool.id.clone(),
            full: TextSize::new(&text(&tool.full)),
            compact: TextSize::new(&text(&tool.compact)),
        })
        .collect();
    let sum = |sizes: &mut dyn Iterator<Item = TextSize>| {
        // Each row has a comma or a bracket beside it.
        sizes.fold(TextSize::new(r#"{"tools":[]}"#), |sum, size| {
            let comma = TextSize { bytes: 1, tokens: 0 };
            sum.plus(size).plus(comma)
        })
    };
    let control = control_tools();
    let full_control: Vec<TextSize> =
        control.iter().map(|tool| TextSize::new(&text(&tool.listed(names)))).collect();
    let compact_control: Vec<TextSize> =
        control.iter().map(|tool| TextSize::new(&text(&tool.listed_compact(names)))).collect();
    let listing = |list: Listing, size: TextSize, own: usize| ListingCost {
        list,
        size,
        tool_count: own + control.len(),
    };
    let full = sum(&mut rows.iter().map(|row| row.full).chain(full_control.iter().copied()));
    let compact = sum(&mut rows.iter().map(|row| row.compact).chain(compact_control));
    let search = sum(&mut full_control.into_iter());
    let count = rows.len() as u64;
    let name = rows.first().map_or("", |row| row.name.as_str());
    let all = tools.iter().fold(TextSize::default(), |sum, tool| sum.plus(description_of(tool)));
    let describe_turn = request("tools.describe", ("name", name)).plus(all.per(count));
    let search_turn = request("tools.search", ("query", QUERY)).plus(found(tools, QUERY));
    let costs = |calls: u64| {
        [
            (Listing::Full, full),
            (Listing::Compact, compact.plus(describe_turn.times(calls))),
            (Listing::Search, search.plus(describe_turn.plus(search_turn).times(calls))),
        ]
    };
    let cheapest = |calls: u64| {
        let least = costs(calls).into_iter().min_by_key(|(_, size)| (size.tokens, size.bytes));
        least.expect("there are three ways")
    };
    ListingCosts {
        listings: vec![
            listing(Listing::Full, full, rows.len()),
            listing(Listing::Compact, compact, rows.len()),
            listing(Listing::Search, search, 0),
        ],
        describe_turn,
        search_turn,
        cheapest: CALLS
            .iter()
            .map(|calls| {
                let (list, size) = cheapest(*calls);
                CheapestListing { calls: *calls, list, size }
            })
            .collect(),
        full_from_calls: (0..=full.tokens).find(|calls| cheapest(*calls).0 == Listing::Full),
        tools: rows,
    }
}

/// Serializes a row of a listing as it is sent.
fn text(value: &impl Serialize) -> String {
    to_json(value).map(|json| json.to_compact()).unwrap_or_default()
}

/// The parameters of a call of a tool.
#[derive(Serialize)]
struct Request<'a> {
    name: &'a str,
    arguments: BTreeMap<&'a str, &'a str>,
}

fn request(name: &str, argument: (&str, &str)) -> TextSize {
    TextSize::new(&text(&Request { name, arguments: [argument].into() }))
}

/// Returns what `tools.describe` answers about a tool.
fn description_of(tool: &CostedTool) -> TextSize {
    let mark = tool.full.meta.as_ref().map(|meta| &meta.tool);
    TextSize::new(&text(&ToolDescription {
        name: &tool.full.name,
        id: &tool.id,
        title: tool.full.title.as_deref().unwrap_or_default(),
        description: &tool.row.description,
        input_schema: &tool.full.input_schema,
        output_schema: tool.full.output_schema.as_ref(),
        family: mark.map_or("", |mark| &mark.family),
        effects: mark.map_or(&[], |mark| &mark.effects),
        risk: mark.map_or(RiskLevel::Low, |mark| mark.risk),
        gate: tool.row.gate,
        reason: tool.row.reason,
    }))
}

/// Returns the size of an answer of `tools.search` with [`RESULTS`] rows of average size.
fn found(tools: &[CostedTool], query: &str) -> TextSize {
    let all = tools.iter().fold(TextSize::default(), |sum, tool| sum.plus(TextSize::new(&text(&tool.row))));
    let frame =
        FoundTools { tool: "tools.search", query: query.to_owned(), tools: Vec::new(), total: tools.len() };
    let count = tools.len() as u64;
    TextSize::new(&text(&frame)).plus(all.per(count).times(count.min(RESULTS)))
}

#[cfg(test)]
mod tests {
    use brigade_core::Json;
    use brigade_policy::Gate;

    use super::*;
    use crate::listed::ToolListing;

    fn tools(count: usize) -> Vec<CostedTool> {
        let schema = r#"{"type": "object", "properties": {"path": {"type": "string", "description": "The file that is counted, below the workspace."}}}"#;
        let tool = |index: usize| {
            let (id, effects) = (format!("tool-{index}"), ["local-read".to_owned()]);
            let shown = ToolListing {
                name: &id,
                title: "Count words",
                description: Some("Counts words. It takes long for large files, and says so while it runs."),
                max_description_bytes: 1 << 10,
                icons: &[],
                input_schema: Json::parse(schema).unwrap(),
                output_schema: None,
                family: "script",
                effects: &effects,
                risk: RiskLevel::Low,
                gate: Gate::Allow,
            };
            let (full, compact) = (ListedTool::full(shown.clone()), ListedTool::compact(shown));
            let said = full.description.clone().unwrap_or_default();
            let row =
                ToolRow::new(&id, &id, &said, Some("catalog"), brigade_policy::approval::ApprovalNeed::Rule);
            CostedTool { id: id.clone(), full, compact, row }
        };
        (0..count).map(tool).collect()
    }

    #[track_caller]
    fn check(count: usize, expect: [&str; 3]) -> ListingCosts {
        let costs = listing_costs(&tools(count), NameStyle::Dotted);
        let lists: Vec<&str> = costs.cheapest.iter().map(|least| least.list.as_str()).collect();
        assert_eq!(lists, expect, "{count}");
        costs
    }

    #[test]
    fn few_tools_are_listed_in_full_and_many_are_searched() {
        let few = check(1, ["compact", "compact", "full"]);
        assert!(few.full_from_calls.is_some_and(|calls| (6..=20).contains(&calls)));
        let many = check(1000, ["search", "search", "search"]);
        assert!(many.full_from_calls.is_some_and(|calls| 20 < calls));
    }

    #[test]
    fn the_sum_is_the_listing() {
        let tools = tools(3);
        let costs = listing_costs(&tools, NameStyle::Dotted);
        let listed = tools.iter().map(|tool| to_json(&tool.full).unwrap());
        let control = control_tools().iter().map(|tool| to_json(&tool.listed(NameStyle::Dotted)).unwrap());
        let whole = Json::object([("tools", Json::Array(listed.chain(control).collect()))]).to_compact();
        let size = costs.listings[0].size;
        assert!(size.bytes.abs_diff(whole.len() as u64) <= 1);
        assert!(size.tokens.abs_diff(estimated_tokens(&whole)) * 20 <= size.tokens);
        assert_eq!(costs.listings.iter().map(|listing| listing.tool_count).collect::<Vec<_>>(), [13, 13, 10]);
    }

    #[test]
    fn a_search_costs_what_the_gateway_answers() {
        let tools = tools(3);
        let rows = tools.iter().map(|tool| tool.row.clone()).collect();
        let answer =
            text(&FoundTools { tool: "tools.search", query: QUERY.to_owned(), tools: rows, total: 3 });
        let members = Json::parse(&answer).unwrap();
        let row = members.get("tools").and_then(Json::as_array).unwrap()[0].as_object().unwrap();
        let names: Vec<&String> = row.keys().collect();
        assert_eq!(names, ["description", "gate", "name", "reason", "skip_judge", "source"]);
        let asked = request("tools.search", ("query", QUERY));
        let size = listing_costs(&tools, NameStyle::Dotted).search_turn;
        // The commas between the rows.
        assert_eq!(size.bytes + 2, asked.bytes + answer.len() as u64);
    }

    /// Texts with the number of tokens that `cl100k_base` and `o200k_base` make of them.
    #[test]
    fn estimates_are_within_15_percent_of_tokenizers() {
        for (text, counts) in SAMPLES {
            let estimate = estimated_tokens(text) as f64;
            for count in counts {
                let ratio = estimate / f64::from(*count);
                assert!((0.85..=1.15).contains(&ratio), "{ratio} {text}");
            }
        }
    }

    const SAMPLES: &[(&str, [u32; 2])] = &[
        (include_str!("cost/repo-tools.json"), [1525, 1568]),
        (include_str!("cost/repo-tools-compact.json"), [723, 742]),
        (include_str!("cost/generated-1000-1.json"), [135, 139]),
        (include_str!("cost/generated-1000-8.json"), [82, 83]),
        (include_str!("cost/seed.json"), [179, 188]),
        (include_str!("cost/release-0.json"), [135, 138]),
        (include_str!("cost/control.json"), [886, 892]),
    ];
}
