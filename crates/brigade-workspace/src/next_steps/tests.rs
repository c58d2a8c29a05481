use super::*;
use crate::testing::Bench;

#[test]
fn a_shown_step_names_the_workspace_unless_it_has_one() {
    struct Words;
    impl StepFormatter for Words {
        fn spell(&self, step: &NextStep, workspace: Option<&str>) -> String {
            format!("{step:?} in {}", workspace.unwrap_or("nothing"))
        }
    }
    let mut bench = Bench::new(&[]);
    bench.context.speller = std::sync::Arc::new(Words);
    let step = NextStep::Init;
    assert_eq!(bench.context.words(&step), "Init in /memory");
    assert_eq!(bench.context.words_of_steps()(&step), "Init in /memory");
    assert_eq!(bench.context.speller().spell(&step, None), "Init in /memory");
    assert_eq!(bench.context.speller().spell(&step, Some("/other")), "Init in /other");
    assert!(bench.context.spelled(NextStep::Init).to_string().contains("/memory"));
    assert_eq!(bench.context.speller.spell(&step, None), "Init in nothing");
}
