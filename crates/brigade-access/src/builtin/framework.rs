//! Which web frameworks a package.json names.

use brigade_core::Json;

/// Packages of web frameworks, with the names that people use.
const FRAMEWORKS: &[(&str, &str)] = &[
    ("@angular/core", "Angular"),
    ("@builder.io/qwik", "Qwik"),
    ("@qwik.dev/core", "Qwik"),
    ("@react-router/dev", "React Router"),
    ("@remix-run/react", "Remix"),
    ("@solidjs/start", "SolidStart"),
    ("@sveltejs/kit", "SvelteKit"),
    ("@tanstack/react-router", "TanStack Router"),
    ("astro", "Astro"),
    ("ember-source", "Ember"),
    ("gatsby", "Gatsby"),
    ("lit", "Lit"),
    ("next", "Next.js"),
    ("nuxt", "Nuxt"),
    ("preact", "Preact"),
    ("react", "React"),
    ("react-router-dom", "React Router"),
    ("solid-js", "Solid"),
    ("svelte", "Svelte"),
    ("vue", "Vue"),
];

/// The members of a package.json that name packages.
const MEMBERS: [&str; 3] = ["dependencies", "devDependencies", "peerDependencies"];

/// Returns the web frameworks that a package.json names, each once, in order of their packages.
pub fn web_frameworks(package: &Json) -> Vec<&'static str> {
    let names = |known: &str| {
        let members = MEMBERS.iter().filter_map(|member| package.get(member)?.as_object());
        members.into_iter().any(|packages| packages.contains_key(known))
    };
    let mut found: Vec<&'static str> = Vec::new();
    for (_, name) in FRAMEWORKS.iter().filter(|(known, _)| names(known)) {
        if !found.contains(name) {
            found.push(name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(package: &str, expect: &[&str]) {
        assert_eq!(web_frameworks(&Json::parse(package).unwrap()), expect, "{package}");
    }

    #[test]
    fn a_package_names_its_frameworks() {
        check(
            r#"{"dependencies": {"next": "15", "react": "19"}, "devDependencies": {"react-router-dom": "1"}}"#,
            &["Next.js", "React", "React Router"],
        );
        check(r#"{"peerDependencies": {"@sveltejs/kit": "2"}}"#, &["SvelteKit"]);
        check(r#"{"dependencies": {"react-native": "1", "nextra": "1"}, "name": "vue"}"#, &[]);
        check(r#"{"dependencies": ["react"]}"#, &[]);
        check("[]", &[]);
    }
}
