use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::record;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
struct Inner {
    path: Option<String>,
    count: Option<u8>,
    #[serde(default)]
    args: Json,
    #[serde(skip)]
    extra: Extra,
}

record!(Inner);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Choice {
    Unit,
    New(u8),
    Pair(u8, String),
    Named { z: bool, a: Option<f64> },
}

#[derive(Clone, Debug, Serialize)]
struct Sample<'a> {
    z: &'a [Choice],
    inner: &'a Inner,
    map: BTreeMap<i16, (char, &'a str)>,
    #[serde(with = "crate::json::sorted")]
    a: Inner,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<u8>,
    nothing: (),
    empty: [u8; 0],
    #[serde(flatten)]
    more: &'a Json,
}

#[track_caller]
fn same<T: Serialize>(value: &T) {
    let json = to_json(value).unwrap();
    assert_eq!(compact_text(value).unwrap(), json.to_compact());
    assert_eq!(pretty_text(value).unwrap(), json.to_pretty());
}

fn json() -> impl Strategy<Value = Json> {
    let numbers = ["-0", "1", "1.50", "1e400", "NaN", "-Infinity", "123456789012345678901234567890"];
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        proptest::sample::select(numbers.to_vec())
            .prop_map(|text| { Json::parse_bytes(text.as_bytes(), Dialect::Lenient).unwrap() }),
        "[a-c\"\n\u{e9}]{0,4}".prop_map(Json::String),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
            proptest::collection::btree_map("path|count|args|[a-z]{1,2}", inner, 0..5).prop_map(Json::Object),
        ]
    })
}

fn record() -> impl Strategy<Value = Inner> {
    let members = proptest::collection::btree_map("path|count|args|[a-z]{1,2}", json(), 0..5);
    members.prop_map(|members| Inner::from_members(members).unwrap())
}

proptest! {
    #[test]
    fn the_text_is_that_of_the_value(value in json(), one in record(), other in record(), n in any::<f64>()) {
        same(&value);
        same(&one);
        let choices = [
            Choice::Unit, Choice::New(3), Choice::Pair(1, "\u{1}".to_owned()),
            Choice::Named { z: true, a: Some(n) }, Choice::Named { z: false, a: None },
        ];
        let more = Json::object([("m", value.clone()), ("b", Json::Null)]);
        let map = BTreeMap::from([(-3, ('"', "x")), (20, ('y', ""))]);
        same(&Sample {
            z: &choices, inner: &one, map, a: other.clone(), left: None, nothing: (), empty: [], more: &more,
        });
        let mut text = RecordText::new(&DerivedForm(&other), &other.extra).unwrap();
        prop_assert_eq!(text.has("path"), other.to_members().contains_key("path"));
        text.rename("path", |key| format!("their_{key}"));
        text.insert("path", &one);
        let mut expected = other.to_members();
        if let Some(theirs) = expected.remove("path") {
            expected.insert("their_path".to_owned(), theirs);
        }
        expected.insert("path".to_owned(), to_json(&one).unwrap());
        let line = text.into_line();
        prop_assert_eq!(line.as_str(), Json::Object(expected).to_compact());
        let mut found = Vec::new();
        crate::json::members(line.as_str().as_bytes(), |key, value| {
            found.push((key.decode().into_owned(), value.as_str().to_owned()));
        })
        .unwrap();
        let known: Vec<_> =
            line.members().map(|(key, value)| (key.to_owned(), value.as_str().to_owned())).collect();
        prop_assert_eq!(known, found);
    }
}

struct DerivedForm<'a>(&'a Inner);

impl Serialize for DerivedForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Inner::serialize(self.0, serializer)
    }
}

#[test]
fn a_value_may_be_nested_in_any_depth() {
    let nest = |value: Json, level: usize| match level % 3 {
        0 => Json::object([("a", value), ("b", Json::Null)]),
        _ => Json::Array(vec![Json::Null, value]),
    };
    for depth in [1, 127, 128, 129, 255, 256, 257, 600] {
        same(&(0..depth).fold(Json::from(1), nest));
        let value = (0..depth).fold(Json::from(1), nest);
        assert_eq!(to_json(&value), Ok(value));
    }
}

#[test]
fn errors_name_the_member() {
    let bad = BTreeMap::from([("a", vec![BTreeMap::from([((1, 2), 3)])])]);
    let error = to_json(&bad).unwrap_err().to_string();
    assert_eq!(compact_text(&bad).unwrap_err().to_string(), error);
    assert!(error.starts_with("a.[0]"), "{error}");
}
