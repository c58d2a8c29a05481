//! The official JSON Schema Test Suite (draft 2020-12, see the license in `tests/suite/`) for the keywords of the
//! subset.
//!
//! Groups that use other keywords must be refused as a whole. The test fixes their number, so that none is skipped by
//! accident.

#![allow(clippy::unwrap_used, reason = "the suite has a fixed form")]

use brigade_schema::{ProblemKind, Schema, SchemaProblem};
use serde_json::Value;

struct Ran {
    groups: usize,
    refused: usize,
}

fn run(name: &str, text: &str) -> Ran {
    let groups: Vec<Value> = serde_json::from_str(text).unwrap();
    let mut ran = Ran { groups: groups.len(), refused: 0 };
    for group in &groups {
        let title = format!("{name}: {}", group["description"]);
        match Schema::compile(&group["schema"]) {
            Err(problems) => {
                ran.refused += 1;
                assert!(problems.iter().all(is_outside_the_subset), "{title}: {problems:?}");
            }
            Ok(schema) => {
                for case in group["tests"].as_array().unwrap() {
                    let found = schema.violations(&case["data"]);
                    assert_eq!(
                        found.is_empty(),
                        case["valid"].as_bool().unwrap(),
                        "{title}: {}: {found:?}",
                        case["description"]
                    );
                    assert_eq!(schema.accepts(&case["data"]), found.is_empty(), "{title}");
                }
            }
        }
    }
    ran
}

fn is_outside_the_subset(problem: &SchemaProblem) -> bool {
    matches!(
        problem.kind,
        ProblemKind::UnsupportedKeywords { .. } | ProblemKind::Reference(_) | ProblemKind::Pattern(_)
    )
}

macro_rules! suite {
    ($($test:ident: $file:literal, $groups:literal groups, $refused:literal refused;)*) => {$(
        #[test]
        fn $test() {
            let ran = run($file, include_str!(concat!("suite/", $file)));
            assert_eq!((ran.groups, ran.refused), ($groups, $refused), "groups and refused groups");
        }
    )*};
}

suite! {
    additional_properties: "additionalProperties.json", 9 groups, 5 refused;
    any_of: "anyOf.json", 8 groups, 0 refused;
    boolean_schema: "boolean_schema.json", 2 groups, 0 refused;
    const_: "const.json", 15 groups, 0 refused;
    default_: "default.json", 3 groups, 0 refused;
    defs: "defs.json", 1 groups, 1 refused;
    enum_: "enum.json", 14 groups, 0 refused;
    exclusive_maximum: "exclusiveMaximum.json", 1 groups, 0 refused;
    exclusive_minimum: "exclusiveMinimum.json", 1 groups, 0 refused;
    infinite_loop_detection: "infinite-loop-detection.json", 1 groups, 1 refused;
    items: "items.json", 10 groups, 5 refused;
    max_items: "maxItems.json", 2 groups, 0 refused;
    max_length: "maxLength.json", 2 groups, 0 refused;
    max_properties: "maxProperties.json", 3 groups, 0 refused;
    maximum: "maximum.json", 2 groups, 0 refused;
    min_items: "minItems.json", 2 groups, 0 refused;
    min_length: "minLength.json", 2 groups, 0 refused;
    min_properties: "minProperties.json", 2 groups, 0 refused;
    minimum: "minimum.json", 2 groups, 0 refused;
    multiple_of: "multipleOf.json", 5 groups, 0 refused;
    optional_bignum: "optional-bignum.json", 7 groups, 0 refused;
    optional_ecmascript_regex: "optional-ecmascript-regex.json", 20 groups, 5 refused;
    optional_float_overflow: "optional-float-overflow.json", 1 groups, 0 refused;
    optional_non_bmp_regex: "optional-non-bmp-regex.json", 2 groups, 1 refused;
    pattern: "pattern.json", 2 groups, 0 refused;
    properties: "properties.json", 6 groups, 1 refused;
    ref_: "ref.json", 35 groups, 16 refused;
    required: "required.json", 5 groups, 0 refused;
    type_: "type.json", 11 groups, 0 refused;
    unique_items: "uniqueItems.json", 6 groups, 4 refused;
}
