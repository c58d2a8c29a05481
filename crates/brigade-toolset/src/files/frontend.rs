//! Files of a web application, found by the naming rules of frameworks: `frontend.*`.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use brigade_access::builtin::{PathUse, web_frameworks};
use brigade_core::Json;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};

use super::ignored::{FileWalk, WalkControl};
use super::place::{failed, place, root};
use super::read_whole;
use crate::context::{Context, Failure, Output};
use crate::run::arguments;

/// The maximum number of files in a result.
const MAX_NAMED_FILES: usize = 1000;

/// The maximum size of a package.json.
const MAX_PACKAGE_BYTES: u64 = 1 << 20;

/// Files that are not part of an application's sources: tests and generated files.
const OUT: &[&str] = &[
    "**/{node_modules,bower_components,dist,build,out,coverage,.next,.nuxt,.output,.svelte-kit,.astro,.angular}/**",
    "**/{__tests__,__mocks__}/**",
    "**/*.{test,spec,stories,story}.*",
    "**/*.d.ts",
];

/// Files that define routes.
const ROUTES: &[&str] = &[
    // Next.js: directories are parts of the path, and these file names have a meaning.
    "**/app/**/{page,route,layout,template,loading,error,not-found,default}.{js,jsx,ts,tsx,mdx}",
    "**/{middleware,proxy}.{js,ts}",
    // Next.js, Nuxt, Gatsby and Astro: each file is a route.
    "**/pages/**/*.{js,jsx,ts,tsx,mdx,vue,astro}",
    // SvelteKit.
    "**/routes/**/+{page,layout,server,error}*.{js,ts,svelte}",
    // Remix, React Router, TanStack Router, SolidStart and Qwik.
    "**/routes/**/*.{js,jsx,ts,tsx,mdx}",
    // Vue, Angular, Solid and React: files with a list of routes.
    "**/{router,routes,routing}.{js,jsx,ts,tsx}",
    "**/{router,routers,routing}/**/*.{js,jsx,ts,tsx}",
    "**/*{-routing.module,.routes}.ts",
    "**/*{Router,Routes}.{js,jsx,ts,tsx,vue}",
];

/// Components that are pages.
const PAGES: &[&str] = &[
    "**/app/**/page.{js,jsx,ts,tsx,mdx}",
    "**/pages/**/*.{js,jsx,ts,tsx,mdx,vue,astro,svelte}",
    "**/routes/**/+page.svelte",
    "**/{views,screens}/**/*.{js,jsx,ts,tsx,vue,svelte}",
    "**/*{Page,View,Screen}.{js,jsx,ts,tsx,vue,svelte}",
    "**/*.page.{js,jsx,ts,tsx,component.ts}",
    "**/*-page.component.ts",
];

/// Files in page directories that are not pages.
const NO_PAGES: &[&str] = &["**/pages/{_app,_document,_error}.*", "**/pages/api/**"];

/// Entry points of an application, and its build configuration.
const ENTRIES: &[&str] = &[
    "**/index.html",
    "**/src/{main,index,app,App,root,client,server,entry}.{js,jsx,ts,tsx,mjs,vue,svelte}",
    "{main,index,app,App,root,client,server,entry}.{js,jsx,ts,tsx,mjs,vue,svelte}",
    "**/entry{-,.}{client,server,browser,dev,preview,ssr}.{js,jsx,ts,tsx}",
    "**/app/{layout,root}.{js,jsx,ts,tsx}",
    "**/pages/{_app,_document}.{js,jsx,ts,tsx}",
    "**/app.{vue,html}",
    "**/app.config.{js,ts}",
    "**/hooks.{client,server}.{js,ts}",
    "**/{next,nuxt,vite,svelte,astro,gatsby,remix,react-router,qwik}.config.{js,mjs,cjs,ts,mts}",
    "**/angular.json",
];

/// The compiled patterns of one tool.
struct FilePatterns {
    included: GlobSet,
    not: GlobSet,
}

fn set(patterns: &[&[&str]]) -> GlobSet {
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns.iter().copied().flatten() {
        let glob = GlobBuilder::new(pattern).literal_separator(true).empty_alternates(true).build();
        builder.add(glob.expect("patterns in the program are globs"));
    }
    builder.build().expect("patterns in the program are globs")
}

impl FilePatterns {
    fn matches(&self, path: &str) -> bool {
        self.included.is_match(path) && !self.not.is_match(path)
    }
}

fn routes_of() -> &'static FilePatterns {
    static PATTERNS: OnceLock<FilePatterns> = OnceLock::new();
    PATTERNS.get_or_init(|| FilePatterns { included: set(&[ROUTES]), not: set(&[OUT]) })
}

fn pages_of() -> &'static FilePatterns {
    static PATTERNS: OnceLock<FilePatterns> = OnceLock::new();
    PATTERNS.get_or_init(|| FilePatterns { included: set(&[PAGES]), not: set(&[OUT, NO_PAGES]) })
}

fn entries_of() -> &'static FilePatterns {
    static PATTERNS: OnceLock<FilePatterns> = OnceLock::new();
    PATTERNS.get_or_init(|| FilePatterns { included: set(&[ENTRIES]), not: set(&[OUT]) })
}

#[derive(Deserialize)]
struct FrontendArgs {
    path: String,
}

/// Walks the directory once and returns the files for each set of patterns, sorted.
fn find<const N: usize>(
    input: &Json,
    context: &Context<'_>,
    included: [&FilePatterns; N],
) -> Result<[Vec<String>; N], Failure> {
    let args: FrontendArgs = arguments(input)?;
    let place = place(context, &args.path, PathUse::Search)?;
    let folder = root(context)?.beneath(&place.path).map_err(|error| failed(&place.shown, &error))?;
    let mut walk = FileWalk::new(context, &place.path)?;
    let mut found = [const { Vec::new() }; N];
    walk.files(&folder, &mut |_, _, path| {
        for (included, found) in included.iter().zip(&mut found) {
            if included.matches(path.as_str()) {
                found.push(path.to_string());
            }
        }
        Ok(WalkControl::On)
    })?;
    for found in &mut found {
        found.sort_unstable();
    }
    Ok(found)
}

/// The result of `frontend.*`.
#[derive(Serialize)]
struct Files<'a> {
    files: &'a [String],
    total: usize,
}

/// Lists files, up to the maximum of a result, and their total number.
fn file_list_output(files: &[String]) -> Output {
    let shown = &files[..files.len().min(MAX_NAMED_FILES)];
    let mut text = shown.join("\n");
    if MAX_NAMED_FILES < files.len() {
        text = format!("{text}\n({} more; name a `path` to see them)", files.len() - MAX_NAMED_FILES);
    }
    Output::from_result(&Files { files: shown, total: files.len() }).text(text)
}

/// `frontend.routes`
pub(super) fn routes(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let [files] = find(input, context, [routes_of()])?;
    Ok(file_list_output(&files))
}

/// `frontend.pages`
pub(super) fn pages(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let [files] = find(input, context, [pages_of()])?;
    Ok(file_list_output(&files))
}

/// `frontend.entries`
pub(super) fn entries(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let [files] = find(input, context, [entries_of()])?;
    Ok(file_list_output(&files))
}

/// `frontend.summary`
pub(super) fn summary(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let [entries, pages, routes] = find(input, context, [entries_of(), pages_of(), routes_of()])?;
    let package = read_whole(context, "package.json", MAX_PACKAGE_BYTES).ok();
    let package = package.and_then(|(_, bytes)| Json::parse(&String::from_utf8_lossy(&bytes)).ok());
    let frameworks = package.map(|package| web_frameworks(&package)).unwrap_or_default();
    let mut lines = vec![format!("frameworks of package.json: {}", frameworks.join(", "))];
    for (what, files) in [("entry points", &entries), ("pages", &pages), ("routing files", &routes)] {
        lines.push(format!("{what}: {}", files.len()));
        lines.extend(files.iter().take(MAX_NAMED_FILES / 10).map(|path| format!("  {path}")));
        if MAX_NAMED_FILES / 10 < files.len() {
            lines.push(format!("  ({} more)", files.len() - MAX_NAMED_FILES / 10));
        }
    }
    let all: BTreeSet<String> = [entries, pages, routes].into_iter().flatten().collect();
    let all: Vec<String> = all.into_iter().collect();
    Ok(Output { text: Some(lines.join("\n")), ..file_list_output(&all) })
}
