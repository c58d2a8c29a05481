//! Tests properties that hold for every schema and every instance.

#![allow(clippy::unwrap_used, reason = "a failing strategy is a failing test")]

use brigade_schema::{Schema, SchemaProblem, Violation};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Any JSON, with names that are often keywords, so that many values are almost schemas.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3i64..10).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any_string().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((any_name(), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn any_string() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::sample::select(vec![
            "object", "array", "string", "integer", "number", "boolean", "null", "#", "#/$defs/a",
            "#/properties/a", "#/items", "#/anyOf/0", "a", "b", "^a+$", "[\\d-x]", "(?=a)", "\\u{41}",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => "[\\[\\](){}^$.*+?|\\\\a-z0-9,:=<>-]{0,12}",
    ]
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(vec![
            "type", "enum", "const", "properties", "required", "additionalProperties", "minProperties",
            "maxProperties", "items", "minItems", "maxItems", "uniqueItems", "minLength", "maxLength", "pattern",
            "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "anyOf", "$ref", "$defs",
            "definitions", "$id", "title", "allOf", "oneOf", "not", "if", "then", "else", "contains", "minContains",
            "prefixItems", "patternProperties", "propertyNames", "dependentSchemas", "dependentRequired",
            "dependencies", "unevaluatedProperties", "unevaluatedItems",
        ]).prop_map(str::to_owned),
        4 => prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

/// A valid schema with an instance that it must accept.
fn schema_and_instance() -> impl Strategy<Value = (Value, Value)> {
    let leaf = prop_oneof![
        any_json().prop_map(|value| (json!(true), value)),
        any_json().prop_map(|value| (json!({ "const": value.clone() }), value)),
        (any_json(), any_json())
            .prop_map(|(other, value)| (json!({ "enum": [other, value.clone()] }), value)),
        any::<bool>().prop_map(|value| (json!({"type": "boolean"}), json!(value))),
        Just((json!({"type": "null"}), Value::Null)),
        // An integer may be written with a zero fraction.
        any::<i32>()
            .prop_map(|n| (json!({"type": "integer", "minimum": n, "maximum": n}), json!(f64::from(n)))),
        (any::<i64>(), any::<i64>()).prop_map(|(a, b)| {
            (json!({"type": ["integer", "null"], "minimum": a.min(b), "maximum": a.max(b)}), json!(a))
        }),
        any::<f64>()
            .prop_filter("finite", |n| n.is_finite())
            .prop_map(|n| {
                (
                    json!({"type": "number", "minimum": n, "exclusiveMaximum": f64::MAX}),
                    json!(n.min(1e300).max(n)),
                )
            })
            .prop_filter("it is below the maximum", |(_, n)| n.as_f64() != Some(f64::MAX)),
        // Every decimal is a multiple of its last digit's unit.
        (-100_000i64..100_000, 1u32..6).prop_map(|(digits, places)| {
            let value: Value = serde_json::from_str(&format!("{digits}e-{places}")).unwrap();
            let unit: Value = serde_json::from_str(&format!("1e-{places}")).unwrap();
            (json!({ "multipleOf": unit }), value)
        }),
        any::<String>().prop_map(|text| {
            let length = text.chars().count();
            (json!({"type": "string", "minLength": length, "maxLength": length}), json!(text))
        }),
        "[a-z]{1,8}".prop_map(|text| (json!({ "pattern": format!("^{text}$|^[0-9]$") }), json!(text))),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            // An object that requires its own properties and refuses all others.
            prop::collection::btree_map(any_name(), inner.clone(), 0..5).prop_map(|entries| {
                let required: Vec<&String> = entries.keys().step_by(2).collect();
                let count = entries.len();
                let mut schema = json!({
                    "type": "object", "required": required, "additionalProperties": false,
                    "minProperties": count, "maxProperties": count
                });
                let (properties, instance) = split(entries);
                schema["properties"] = properties.into();
                (schema, instance.into())
            }),
            // A list in which every item matches one of the alternatives, each given as a definition.
            prop::collection::vec(inner.clone(), 1..4).prop_map(|items| {
                let (alternatives, values): (Vec<Value>, Vec<Value>) = items.into_iter().unzip();
                let count = values.len();
                (
                    json!({"type": "array", "items": {"anyOf": alternatives}, "minItems": count, "maxItems": count}),
                    json!(values),
                )
            }),
            inner.prop_map(|(schema, instance)| {
                (json!({"type": "object", "additionalProperties": schema}), json!({"a": instance, "": instance}))
            }),
        ]
    })
}

fn split(
    entries: std::collections::BTreeMap<String, (Value, Value)>,
) -> (Map<String, Value>, Map<String, Value>) {
    let mut schemas = Map::new();
    let mut values = Map::new();
    for (name, (schema, value)) in entries {
        schemas.insert(name.clone(), schema);
        values.insert(name, value);
    }
    (schemas, values)
}

fn compile(schema: &Value) -> Schema {
    Schema::compile(schema).unwrap_or_else(|problems| panic!("{schema}: {problems:?}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(schema in any_json(), instance in any_json()) {
        match Schema::compile(&schema) {
            Err(problems) => prop_assert!(!problems.is_empty()),
            Ok(compiled) => {
                for instance in [&instance, &schema] {
                    let found = compiled.violations(instance);
                    prop_assert_eq!(found.is_empty(), compiled.accepts(instance));
                    found.iter().for_each(|violation: &Violation| drop(violation.to_string()));
                }
                drop(compiled.describe_type());
                compiled.properties().for_each(|property| drop(property.describe_type()));
            }
        }
        if let Err(problems) = Schema::compile_root(&schema) {
            problems.iter().for_each(|problem: &SchemaProblem| drop(problem.to_string()));
        }
    }

    #[test]
    fn a_contract_accepts_objects_only(schema in any_json(), instance in any_json()) {
        let mut schema = schema;
        if let Value::Object(keywords) = &mut schema {
            keywords.insert("type".to_owned(), json!("object"));
        }
        if let Ok(compiled) = Schema::compile_root(&schema) {
            let is_checked = compiled.unchecked().is_empty();
            prop_assert!(instance.is_object() || !is_checked || !compiled.accepts(&instance));
            prop_assert!(Schema::compile(&schema).is_ok());
        }
    }

    #[test]
    fn an_instance_made_for_its_schema_is_valid((schema, instance) in schema_and_instance()) {
        prop_assert_eq!(compile(&schema).violations(&instance), []);
    }

    #[test]
    fn a_reference_behaves_like_its_target((schema, instance) in schema_and_instance(), other in any_json()) {
        let referring = json!({"$ref": "#/$defs/a~1b", "$defs": {"a/b": schema.clone()}});
        let (direct, referring) = (compile(&schema), compile(&referring));
        for value in [&instance, &other] {
            prop_assert_eq!(direct.violations(value), referring.violations(value));
        }
    }

    #[test]
    fn anyof_is_a_disjunction((a, x) in schema_and_instance(), (b, y) in schema_and_instance(), z in any_json()) {
        let either = compile(&json!({"anyOf": [a.clone(), b.clone()]}));
        let (a, b) = (compile(&a), compile(&b));
        for value in [&x, &y, &z] {
            prop_assert_eq!(either.accepts(value), a.accepts(value) || b.accepts(value));
            prop_assert_eq!(either.accepts(value), either.violations(value).is_empty());
        }
    }

    #[test]
    fn only_missing_or_additional_properties_are_reported((schema, instance) in schema_and_instance()) {
        let wrapped = compile(&json!({
            "type": "object", "properties": {"a": schema}, "required": ["a"], "additionalProperties": false
        }));
        let told = |instance: Value| -> Vec<String> {
            wrapped.violations(&instance).iter().map(Violation::to_string).collect()
        };
        prop_assert_eq!(told(json!({})), ["$.a: required"]);
        prop_assert_eq!(told(json!({"a": instance, "b": 1})), ["$.b: additional property not allowed"]);
    }
}
