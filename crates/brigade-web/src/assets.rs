//! The files of the page, which are part of the program.

use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, HeaderValue};
use axum::response::Response;

use crate::answer::text;

/// Who may load a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Audience {
    /// Anyone on this machine.
    All,
    /// Only those with a session.
    Session,
}

/// A file of the page.
struct Asset {
    path: &'static str,
    media: &'static str,
    audience: Audience,
    content: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

macro_rules! assets {
    ($($path:literal $media:ident $audience:ident $file:literal;)+) => {
        const ASSETS: &[Asset] = &[$(Asset {
            path: $path,
            media: $media,
            audience: Audience::$audience,
            content: include_str!(concat!("../assets/", $file)),
        }),+];
    };
}

assets! {
    "/login" HTML All "login.html";
    "/assets/login.js" SCRIPT All "login.js";
    "/assets/style.css" STYLE All "style.css";
    "/" HTML Session "index.html";
    "/assets/app.js" SCRIPT Session "app.js";
    "/assets/api.js" SCRIPT Session "api.js";
    "/assets/dom.js" SCRIPT Session "dom.js";
    "/assets/charts.js" SCRIPT Session "charts.js";
    "/assets/review.js" SCRIPT Session "review.js";
    "/assets/history.js" SCRIPT Session "history.js";
    "/assets/kitchen.js" SCRIPT Session "kitchen.js";
    "/assets/machine.js" SCRIPT Session "machine.js";
}

/// Returns the paths of all files.
pub(crate) fn paths() -> impl Iterator<Item = &'static str> {
    ASSETS.iter().map(|asset| asset.path)
}

/// Returns whether a file needs no session.
pub(crate) fn is_public(path: &str) -> bool {
    ASSETS.iter().any(|asset| asset.path == path && asset.audience == Audience::All)
}

/// Answers with a file.
pub(crate) fn answer(path: &str) -> Response {
    let asset = ASSETS.iter().find(|asset| asset.path == path).expect("only paths of files are routed here");
    let mut answer = text(StatusCode::OK, asset.media, asset.content);
    if asset.media != HTML {
        // Another version of the program has the same paths.
        answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_styles_are_small() {
        let size: usize =
            ASSETS.iter().filter(|asset| asset.media != HTML).map(|asset| asset.content.len()).sum();
        assert!(size < 150_000, "{size} bytes");
    }

    #[test]
    fn foreign_text_is_never_parsed_as_html() {
        for asset in ASSETS.iter().filter(|asset| asset.media == SCRIPT) {
            for banned in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("]
            {
                assert!(!asset.content.contains(banned), "{} has {banned}", asset.path);
            }
        }
        for asset in ASSETS {
            for line in asset.content.lines().filter(|line| line.contains("://")) {
                assert!(line.contains("http://www.w3.org/2000/svg"), "{}: {line}", asset.path);
            }
        }
    }
}
