//! The premise by which contexts with all orders around a call are judged by the weakest and the strongest: a stronger
//! order takes outcomes away and adds none.

use std::collections::HashSet;

use litmake_cat::LoadOptions;
use litmake_cat::load::load;
use litmake_isa::llvm::module::Module;
use litmake_litmus::Arch;
use litmake_sim::{Model, Options, Simulator, State};
use litmake_tv::context::{Context, Order, Told};
use litmake_tv::judge::MONOTONE;
use litmake_tv::pair;
use litmake_tv::program;
use litmake_tv::setting::Subjects;

const FUNCTIONS: &str = "
define i32 @src(ptr %x, ptr %y) {
  %a = load atomic i32, ptr %x acquire, align 4
  store atomic i32 1, ptr %y release, align 4
  %b = atomicrmw add ptr %x, i32 2 monotonic
  ret i32 %b
}
define i32 @tgt(ptr %x, ptr %y) {
  ret i32 0
}
define i32 @src2(ptr %x, ptr %y) {
  store atomic i32 1, ptr %x seq_cst, align 4
  %b = load atomic i32, ptr %y monotonic, align 4
  fence acquire
  ret i32 %b
}
define i32 @tgt2(ptr %x, ptr %y) {
  ret i32 0
}
";

#[test]
fn stronger_orders_take_outcomes_away() {
    let module = Module::read(FUNCTIONS).expect("reads");
    for name in
        MONOTONE.into_iter().filter(|name| ["llvm", "rc11"].iter().any(|n| name.contains(n)))
    {
        let cat = load(name, &LoadOptions::new(Arch::Llvm)).expect("loads");
        let model = Model::load(&cat).expect("is understood");
        let (mut simulator, options) = (Simulator::default(), Options::default());
        let (mut compared, mut fewer) = (0, 0);
        for pair in pair::within(&module) {
            let subjects = Subjects::of(&pair).unwrap_or_else(|e| panic!("{e:?}"));
            let settings = subjects.settings(&mut simulator, [&model, &model], &options);
            let setting = &settings.unwrap_or_else(|e| panic!("{e:?}"))[0];
            let told = Told {
                spots: &setting.spots,
                compared: &[],
                fresh: &subjects.fresh,
                fences: true,
                orders: true,
                reads_within: false,
                acts_within: false,
                plain: false,
                updates: true,
            };
            let mut states = |context: &Context| -> HashSet<State> {
                let own =
                    program::own(&subjects.source, setting, &context.around).expect("is written");
                let test = program::test(&subjects.source, setting, context, &own, 0);
                let found = simulator.simulate(&test, &model, &options);
                found.unwrap_or_else(|e| panic!("{e}")).states.iter().collect()
            };
            for context in (1..=3).flat_map(|size| told.of_size(size, 2)) {
                let weakest = context.ordered(Order::Relaxed);
                if weakest == context {
                    continue;
                }
                let (weak, strong) = (states(&weakest), states(&context));
                assert!(strong.is_subset(&weak), "{name}: {context:?}");
                compared += 1;
                fewer += usize::from(strong.len() < weak.len());
            }
        }
        assert!(compared > 100 && fewer > 10, "{name}: {fewer} of {compared}");
    }
}
