//! Parentheses, commas, `!` and `&` against the operations of sets.

use proptest::prelude::*;

use super::machine;
use crate::CpuSet;
use crate::cpu_choice::resolve;

#[derive(Debug, Clone)]
enum Expression {
    Word(&'static str),
    Others(Box<Expression>),
    Common(Vec<Expression>),
    Together(Vec<Expression>),
    Without(Box<Expression>, Box<Expression>),
}

impl Expression {
    fn text(&self) -> String {
        let joined = |parts: &[Expression], by: &str| {
            parts.iter().map(|part| format!("({})", part.text())).collect::<Vec<_>>().join(by)
        };
        match self {
            Self::Word(word) => word.to_string(),
            Self::Others(of) => format!("!({})", of.text()),
            Self::Common(parts) => joined(parts, " & "),
            Self::Together(parts) => joined(parts, ","),
            Self::Without(from, taken) => format!("({}),!({})", from.text(), taken.text()),
        }
    }

    fn cpus(&self, all: &CpuSet) -> CpuSet {
        match self {
            Self::Word(word) => resolve(word, &machine()).unwrap(),
            Self::Others(of) => all.difference(&of.cpus(all)),
            Self::Common(parts) => {
                parts.iter().fold(all.clone(), |common, part| common.intersection(&part.cpus(all)))
            }
            Self::Together(parts) => {
                parts.iter().fold(CpuSet::new(), |together, part| together.union(&part.cpus(all)))
            }
            Self::Without(from, taken) => from.cpus(all).difference(&taken.cpus(all)),
        }
    }
}

fn an_expression() -> impl Strategy<Value = Expression> {
    let words =
        ["all", "node:0", "node:2", "l3:0", "l3:1", "smt:0", "smt:1", "core:1", "siblings", "0-2", "5"];
    let word = prop::sample::select(words.to_vec()).prop_map(Expression::Word);
    word.prop_recursive(3, 16, 3, |of| {
        let several = prop::collection::vec(of.clone(), 1..4);
        prop_oneof![
            of.clone().prop_map(|of| Expression::Others(Box::new(of))),
            several.clone().prop_map(Expression::Common),
            several.prop_map(Expression::Together),
            (of.clone(), of).prop_map(|(from, taken)| Expression::Without(Box::new(from), Box::new(taken))),
        ]
    })
}

proptest! {
    #[test]
    fn parentheses_mean_the_operations_of_sets(expression in an_expression()) {
        let machine = machine();
        let (text, expected) = (expression.text(), expression.cpus(&machine.usable()));
        match resolve(&text, &machine) {
            Ok(cpus) => prop_assert_eq!(cpus, expected, "{}", text),
            Err(fault) => {
                prop_assert!(expected.is_empty() && fault.cause.contains("leaves no CPU"), "{}: {}", text, fault);
            }
        }
    }
}
