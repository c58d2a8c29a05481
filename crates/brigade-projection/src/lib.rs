//! Renders tools for agent harnesses and tells what has drifted.
