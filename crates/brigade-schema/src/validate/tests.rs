//! Tests of validation.

use serde_json::json;

use super::*;

#[track_caller]
fn check(schema: Value, instance: Value, expect: &[&str]) {
    let compiled = Schema::compile(&schema).unwrap_or_else(|problems| panic!("{schema}: {problems:?}"));
    let found: Vec<String> = violations(&compiled, &instance).iter().map(Violation::to_string).collect();
    assert_eq!(found, expect, "{schema} on {instance}");
    assert_eq!(accepts(&compiled, &instance), expect.is_empty(), "{schema} on {instance}");
}

#[test]
fn violations_come_in_a_stable_order() {
    check(
        json!({
            "type": "object",
            "required": ["z", "path"],
            "additionalProperties": false,
            "maxProperties": 3,
            "properties": {
                "n": {"type": "number"},
                "list": {"items": {"type": "string", "minLength": 2}, "maxItems": 2},
                "mode": {"type": "string", "enum": ["a", "b"]},
                "path": {"type": "string"},
                "z": {}
            }
        }),
        json!({"n": "1", "extra": 1, "a b": 2, "mode": "c", "list": ["ab", "c", 3]}),
        &[
            "$.z: required",
            "$.path: required",
            "$[\"a b\"]: additional property not allowed",
            "$.extra: additional property not allowed",
            "$: must have at most 3 properties",
            "$.list: must have at most 2 items",
            "$.list[1]: must have at least 2 characters",
            "$.list[2]: expected string",
            "$.mode: expected one of \"a\", \"b\"",
            "$.n: expected number",
        ],
    );
}

#[test]
fn every_keyword_names_its_limit() {
    for (schema, instance, expect) in [
        (json!({"type": "integer"}), json!(1.5), "expected integer"),
        (json!({"type": ["null", "string"]}), json!(1), "expected string or null"),
        (json!(false), json!(1), "not allowed"),
        (json!({"enum": [1]}), json!(2), "expected 1"),
        (json!({"enum": []}), json!(2), "expected nothing: no value is allowed"),
        (json!({"const": {"b": 1, "a": []}}), json!(2), "expected {\"a\":[],\"b\":1}"),
        (json!({"minimum": 1.50}), json!(1), "must be at least 1.5"),
        (json!({"maximum": 3}), json!(3.5), "must be at most 3"),
        (json!({"exclusiveMinimum": 3}), json!(3.0), "must be more than 3"),
        (json!({"exclusiveMaximum": 3}), json!(3), "must be less than 3"),
        (json!({"multipleOf": 0.1}), json!(0.35), "must be a multiple of 0.1"),
        (json!({"minLength": 1}), json!(""), "must have at least 1 character"),
        (json!({"maxLength": 2}), json!("äöü"), "must have at most 2 characters"),
        (json!({"pattern": "^[a-z]\"$"}), json!("1"), "must match the pattern \"^[a-z]\\\"$\""),
        (json!({"minItems": 2}), json!([1]), "must have at least 2 items"),
        (json!({"maxItems": 1}), json!([1, 2]), "must have at most 1 item"),
        (json!({"uniqueItems": true}), json!([1, 2, 1.0]), "items must be unique: item 2 repeats item 0"),
        (json!({"minProperties": 2}), json!({}), "must have at least 2 properties"),
        (json!({"maxProperties": 0}), json!({"a": 1}), "must have at most 0 properties"),
        (json!({"contains": {"const": 1}}), json!([2]), "must contain at least 1 item: 1"),
        (
            json!({"contains": {"type": "string"}, "minContains": 2}),
            json!(["a", 1]),
            "must contain at least 2 items: string",
        ),
        (
            json!({"contains": {"type": "string"}, "maxContains": 1}),
            json!(["a", "b"]),
            "must contain at most 1 item: string",
        ),
        (json!({"not": {"type": "string"}}), json!("a"), "matches what `not` excludes: string"),
        (
            json!({"not": {"type": "object", "required": ["a"]}}),
            json!({"a": 1}),
            "matches what `not` excludes: object with a",
        ),
        (json!({"not": {}}), json!(1), "not allowed"),
        (
            json!({"oneOf": [{"type": "number"}, {"type": "integer"}]}),
            json!(1),
            "matches more than one of the alternatives: number; integer",
        ),
        (json!({"oneOf": [{"type": "number"}, {"type": "null"}]}), json!(""), "expected number or null"),
        (json!({"allOf": [{"minimum": 3}]}), json!(1), "must be at least 3"),
        (json!({"if": {"minimum": 3}, "then": {"multipleOf": 2}}), json!(5), "must be a multiple of 2"),
        (json!({"if": {"minimum": 3}, "else": {"minimum": 1}}), json!(0), "must be at least 1"),
    ] {
        check(schema, instance, &[&format!("$: {expect}")]);
    }
}

#[test]
fn properties_and_items_are_named() {
    for (schema, instance, expect) in [
        (
            json!({"patternProperties": {"^x-": {"type": "string"}}}),
            json!({"x-a": 1}),
            &["$[\"x-a\"]: expected string"][..],
        ),
        (
            json!({"patternProperties": {"^x-": {}}, "additionalProperties": false}),
            json!({"x-a": 1, "y": 1}),
            &["$.y: additional property not allowed"],
        ),
        (
            json!({"propertyNames": {"pattern": "^[a-z]+$"}}),
            json!({"a": 1, "B": 1}),
            &["$.B: name of the property: must match the pattern \"^[a-z]+$\""],
        ),
        (json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1}), &["$.b: required beside \"a\""]),
        (json!({"dependentSchemas": {"a": {"required": ["b"]}}}), json!({"a": 1}), &["$.b: required"]),
        (
            json!({"dependencies": {"a": ["b"], "c": {"maxProperties": 1}}}),
            json!({"a": 1}),
            &["$.b: required beside \"a\""],
        ),
        (
            json!({"prefixItems": [{"type": "string"}], "items": false}),
            json!([1, 2]),
            &["$[0]: expected string", "$[1]: not allowed"],
        ),
        (
            json!({"items": [{"type": "string"}], "additionalItems": {"type": "null"}}),
            json!(["a", 2]),
            &["$[1]: expected null"],
        ),
        (
            json!({"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": false}),
            json!({"a": 1, "b": 1}),
            &["$.b: additional property not allowed"],
        ),
        (
            json!({"prefixItems": [{}], "unevaluatedItems": {"type": "null"}}),
            json!([1, 2]),
            &["$[1]: expected null"],
        ),
        (
            json!({"if": {"properties": {"mode": {"const": "a"}}}, "then": {"required": ["size"]}}),
            json!({"mode": "a"}),
            &["$.size: required"],
        ),
    ] {
        check(schema, instance, expect);
    }
}

#[test]
fn large_integers_are_compared_exactly() {
    check(json!({"maximum": 9007199254740992u64}), json!(9007199254740992u64), &[]);
    check(
        json!({"maximum": 9007199254740992u64}),
        json!(9007199254740993u64),
        &["$: must be at most 9007199254740992"],
    );
    check(json!({"minimum": u64::MAX}), json!(18446744073709551615u64), &[]);
    check(
        json!({"const": 9007199254740993u64}),
        json!(9007199254740992.0),
        &["$: expected 9007199254740993"],
    );
}

#[test]
fn values_of_the_instance_are_never_shown() {
    let secret = "hunter2-s3cr3t";
    let schema = Schema::compile(&json!({
        "properties": {
            "a": {"type": "integer"}, "b": {"enum": ["x"]}, "c": {"maxLength": 3}, "d": {"pattern": "^x$"},
            "e": {"anyOf": [{"const": 1}, {"type": "array"}]}, "f": {"uniqueItems": true},
            "g": {"anyOf": [{"maxLength": 3}, {"pattern": "^y"}]}, "h": false,
            "j": {"oneOf": [{"minLength": 1}, {"minLength": 2}]}, "k": {"not": {"type": "string"}},
            "l": {"contains": {"const": 1}}, "m": {"allOf": [{"maxLength": 1}]},
            "n": {"if": true, "then": {"const": 1}}, "o": {"unevaluatedProperties": {"type": "null"}}
        },
        "additionalProperties": {"type": "null"}
    }))
    .unwrap();
    let instance = json!({
        "a": secret, "b": secret, "c": secret, "d": secret, "e": secret, "f": [secret, secret],
        "g": secret, "h": secret, "i": secret, "j": secret, "k": secret, "l": [secret], "m": secret,
        "n": secret, "o": {"a": secret}
    });
    let found = violations(&schema, &instance);
    assert_eq!(found.len(), 15);
    assert!(!format!("{found:?}").contains(secret));
}

#[test]
fn alternatives_report_the_intended_one() {
    let either = json!({"anyOf": [
        {"type": "string", "minLength": 3},
        {"type": "array", "items": {"type": "string"}},
        {"type": "null"}
    ]});
    check(either.clone(), json!(null), &[]);
    // No alternative allows the type, so all types are listed.
    check(either.clone(), json!(1), &["$: expected array, string or null"]);
    // Only one alternative allows the type, so it is the intended one.
    check(either.clone(), json!("a"), &["$: must have at least 3 characters"]);
    check(either, json!(["a", 1]), &["$[1]: expected string"]);
    // All matching alternatives are lists of values, so the lists are joined.
    check(
        json!({"anyOf": [{"const": "a"}, {"enum": ["b", "c"]}, {"type": "object"}]}),
        json!("d"),
        &["$: expected one of \"a\", \"b\", \"c\""],
    );
    // Otherwise the alternatives are described.
    check(
        json!({"anyOf": [{"required": ["a"]}, {"required": ["b", "c"]}, {"$ref": "#/$defs/d"}],
               "$defs": {"d": {"type": "object", "required": ["d"]}}}),
        json!({}),
        &["$: matches none of the alternatives: object with a; object with b, c; object with d"],
    );
}

#[test]
fn fixed_properties_identify_the_alternative() {
    let shape = json!({"properties": {"shape": {"anyOf": [
        {"$ref": "#/$defs/circle"}, {"$ref": "#/$defs/square"}
    ]}}, "$defs": {
        "circle": {"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}},
                   "required": ["kind", "r"]},
        "square": {"type": "object", "properties": {"kind": {"enum": ["square"]}, "side": {"type": "number"}},
                   "required": ["kind", "side"]}
    }});
    check(shape.clone(), json!({"shape": {"kind": "square", "side": 1}}), &[]);
    check(shape.clone(), json!({"shape": {"kind": "square"}}), &["$.shape.side: required"]);
    check(shape.clone(), json!({"shape": {"kind": "circle", "r": "1"}}), &["$.shape.r: expected number"]);
    check(
        shape,
        json!({"shape": {"kind": "line"}}),
        &["$.shape: matches none of the alternatives: object with kind, r; object with kind, side"],
    );
}

#[test]
fn rules_beside_a_reference_apply_too() {
    let schema = json!({"$ref": "#/$defs/name", "maxLength": 2, "$defs": {"name": {"type": "string", "minLength": 1}}});
    check(schema.clone(), json!("ab"), &[]);
    check(schema.clone(), json!("abc"), &["$: must have at most 2 characters"]);
    check(schema.clone(), json!(""), &["$: must have at least 1 character"]);
    check(schema, json!(1), &["$: expected string"]);
}

#[test]
fn the_same_finding_is_reported_once() {
    let schema = json!({
        "properties": {"a": {"$ref": "#/$defs/s"}}, "$ref": "#/$defs/again", "$defs": {
            "s": {"type": "string"}, "again": {"properties": {"a": {"$ref": "#/$defs/s"}}}
        }
    });
    check(schema, json!({"a": 1}), &["$.a: expected string"]);
}

#[test]
fn recursion_follows_the_instance() {
    let tree = json!({"$ref": "#/$defs/tree", "$defs": {"tree": {
        "type": "object", "required": ["value"], "additionalProperties": false,
        "properties": {"value": {"type": "integer"}, "children": {"items": {"$ref": "#/$defs/tree"}}}
    }}});
    check(tree.clone(), json!({"value": 1, "children": [{"value": 2}, {"value": 3, "children": []}]}), &[]);
    check(
        tree,
        json!({"value": 1, "children": [{"value": 2, "children": [{"valu": 1}]}]}),
        &[
            "$.children[0].children[0].value: required",
            "$.children[0].children[0].valu: additional property not allowed",
        ],
    );
}

#[test]
fn deep_instances_are_refused_or_checked_to_the_end() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    check(json!({"items": {"$ref": "#"}}), nested(128), &[]);
    check(json!({"items": {"$ref": "#"}}), nested(129), &["$: nested more than 128 levels deep"]);
    check(json!({"anyOf": [{"type": "integer"}, {"items": {"$ref": "#"}}]}), nested(127), &[]);
    // Three steps per level exceed the depth limit of a check. The result is a refusal, not an overflow.
    let costly = Schema::compile(&json!({
        "minItems": 0, "$ref": "#/$defs/a",
        "$defs": {"a": {"minItems": 0, "$ref": "#/$defs/b"}, "b": {"items": {"$ref": "#"}}}
    }))
    .unwrap();
    assert!(accepts(&costly, &nested(80)));
    assert!(!accepts(&costly, &nested(120)));
    assert!(matches!(
        violations(&costly, &nested(120))[..],
        [Violation { kind: ViolationKind::TooDeep, .. }]
    ));
}

/// Without cached results each of these takes 2^60 steps or more.
#[test]
fn hostile_schemas_take_no_exponential_time() {
    let layers: Map<String, Value> = (0..60)
        .map(|n| {
            let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
            (format!("d{n}"), json!({ "anyOf": [next, next] }))
        })
        .collect();
    let mut wide = json!({ "$defs": layers, "$ref": "#/$defs/d0" });
    wide["$defs"]["d60"] = json!({"type": "string"});
    check(wide, json!(1), &["$: expected string"]);

    let nested = (0..100).fold(json!(1), |inner, _| json!({ "x": inner }));
    let branch = json!({"properties": {"x": {"$ref": "#"}}, "maxProperties": 3, "type": ["object", "null"]});
    let twice = Schema::compile(&json!({ "anyOf": [branch, branch] })).unwrap();
    assert!(!accepts(&twice, &nested));
    assert_eq!(violations(&twice, &nested).len(), 1);

    let both = json!({
        "properties": {"x": {"$ref": "#"}}, "$ref": "#/$defs/b", "$defs": {
            "b": {"properties": {"x": {"$ref": "#"}}, "type": "object"}
        }
    });
    let both = Schema::compile(&both).unwrap();
    assert!(!accepts(&both, &nested));
    assert_eq!(violations(&both, &nested).len(), 1);
}

/// Rules that evaluate the same property or item twice double the work with each level.
#[test]
fn overlapping_rules_take_no_exponential_time() {
    let nested = (0..100).fold(json!(1), |inner, _| json!({ "x": inner }));
    let lists = (0..100).fold(json!(1), |inner, _| json!([inner]));
    let again = json!({"$ref": "#"});
    for (schema, instance) in [
        (json!({"properties": {"x": again}, "patternProperties": {"x": again}, "type": "object"}), &nested),
        (json!({"items": again, "contains": again, "type": "array"}), &lists),
        (
            json!({"allOf": [{"properties": {"x": again}}], "unevaluatedProperties": again, "not": {"const": 1}}),
            &nested,
        ),
        (
            json!({"if": {"properties": {"x": again}}, "then": {"properties": {"x": again}}, "type": "object"}),
            &nested,
        ),
        (
            json!({"oneOf": [{"properties": {"x": again}, "type": "object"}, {"properties": {"x": again}, "type": "array"}]}),
            &nested,
        ),
    ] {
        let schema = Schema::compile(&schema).unwrap();
        assert_eq!(accepts(&schema, instance), violations(&schema, instance).is_empty());
    }
}

/// A check that was aborted must not become a success when `not` inverts it.
#[test]
fn a_check_that_is_given_up_is_a_refusal() {
    let nested = (0..120).fold(json!(1), |inner, _| json!([inner]));
    let costly = json!({
        "not": {"$ref": "#/$defs/a"},
        "$defs": {"a": {"allOf": [{"allOf": [{"items": {"$ref": "#/$defs/a"}}]}], "type": "array"}}
    });
    check(costly, nested, &["$: nested more than 128 levels deep"]);

    let schema = Schema::compile(&json!({"items": {"not": {"type": "string"}}})).unwrap();
    let items = json!([1, 2, 3]);
    for mode in [Mode::Probe, Mode::Report] {
        let mut late = Check::new(&schema, mode, MAX_STEPS - 3);
        late.walk(schema.root, &items, &Path::Root, 0);
        assert_eq!(late.abandoned, Some(ViolationKind::TooCostly));
    }
}

/// Threads of the gateway have 2 MiB.
#[test]
fn the_deepest_check_fits_a_small_stack() {
    let run = || {
        let deep = (0..55).fold(json!({"type": "string"}), |inner, _| json!({ "allOf": [inner] }));
        let schema = json!({"anyOf": [{"oneOf": [{"not": {"not": {"items": {"$ref": "#"}}}}]}, {"$ref": "#/$defs/d"}], "$defs": {"d": deep}});
        let schema = Schema::compile(&schema).unwrap();
        let nested = (0..128).fold(json!(1), |inner, _| json!([inner]));
        drop(violations(&schema, &nested));
        accepts(&schema, &nested)
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap();
    assert!(!thread.join().unwrap());
}

#[test]
fn the_list_of_violations_is_bounded() {
    let schema = Schema::compile(&json!({"items": {"type": "string"}})).unwrap();
    assert_eq!(violations(&schema, &json!(vec![0; 5000])).len(), MAX_VIOLATIONS);
}
