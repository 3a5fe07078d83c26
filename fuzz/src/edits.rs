//! Edits of a document that is sound otherwise. Bytes at random hardly ever get past a parser of JSON or TOML; with edits of its values
//! the fuzzer reaches what is computed from them.

use serde_json::{Value, json};

/// Bytes that one edit takes: which value (two), what it becomes, and out of what.
const EDIT_BYTES: usize = 4;

/// A document that has so many values is edited no further: each edit may repeat what those before it have repeated.
const MOST_VALUES: usize = 20_000;

/// In a document of TOML these words become numbers that JSON does not have.
const NOT_IN_JSON: [&str; 3] = ["nan", "inf", "-inf"];

/// Makes the edits that `bytes` say, one after the other; what is left over says nothing.
pub fn edit(whole: &mut Value, bytes: &[u8]) {
    for edit in bytes.chunks_exact(EDIT_BYTES) {
        let [low, high, what, with] = [edit[0], edit[1], edit[2], edit[3]];
        let (chosen, of) = (usize::from(u16::from_le_bytes([low, high])), count(whole));
        if of > MOST_VALUES {
            return;
        }
        let other = nth(whole, &mut (chosen.wrapping_add(usize::from(with)) % of)).cloned();
        if let Some(value) = nth(whole, &mut (chosen % of)) {
            change(value, what, with, other.unwrap_or_default());
        }
    }
}

/// Gives one value another content, or a place more.
fn change(value: &mut Value, what: u8, with: u8, other: Value) {
    let extremes = extremes();
    match (what % 8, value) {
        // Most edits: what no writer would say.
        (0..=2, value) => *value = extremes[usize::from(with) % extremes.len()].clone(),
        (3, value) => *value = Value::from(with),
        (4, value) => *value = other,
        (5, Value::Array(all)) => {
            let again = all.last().cloned().unwrap_or(other);
            all.extend(std::iter::repeat_n(again, usize::from(with)));
        }
        (5, Value::Object(all)) => {
            let first = all.values().next().cloned().unwrap_or(other);
            all.insert(["4294967295", "", "7", "a b\n"][usize::from(with) % 4].into(), first);
        }
        (6, Value::Array(all)) => all.truncate(usize::from(with) % (all.len() + 1)),
        (6, Value::Object(all)) => {
            let name = all.keys().nth(usize::from(with) % all.len().max(1)).cloned();
            name.and_then(|name| all.remove(&name));
        }
        (7, Value::Number(number)) => {
            let factor = [0.0, -1.0, 1e-9, 0.5, 2.0, 1e9][usize::from(with) % 6];
            *number = number
                .as_f64()
                .and_then(|number| serde_json::Number::from_f64(number * factor))
                .unwrap_or_else(|| 0.into());
        }
        (_, value) => *value = Value::from(format!("{with}-{}", u32::from(with) * 77)),
    }
}

fn extremes() -> Vec<Value> {
    let mut all = vec![json!(null), json!(true), json!([]), json!({}), json!(0), json!(1), json!(-1)];
    all.extend([u64::from(u32::MAX), u64::MAX, i64::MAX as u64, 1 << 53, 1 << 31, 1 << 62].map(Value::from));
    all.extend([i64::MIN, i64::from(i32::MIN)].map(Value::from));
    all.extend(
        [0.5, -0.0, 5e-324, f64::MIN_POSITIVE, f64::EPSILON, 1e300, f64::MAX, f64::MIN].map(Value::from),
    );
    let words = [
        "",
        "0",
        "-1",
        "18446744073709551615",
        "0-4294967295",
        "4294967295",
        "0-1:1/2",
        "a\nb",
        "\u{1b}[2J",
        "é{n}",
    ];
    all.extend(words.map(Value::from));
    all.extend(NOT_IN_JSON.map(Value::from));
    all.push(Value::from("x".repeat(5_000)));
    all
}

/// The values of a document, itself and all in it.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(all) => all.iter().map(count).sum::<usize>(),
        Value::Object(all) => all.values().map(count).sum(),
        _ => 0,
    }
}

/// The value of that number, counted from the outside.
fn nth<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(all) => all.iter_mut().find_map(|value| nth(value, left)),
        Value::Object(all) => all.values_mut().find_map(|value| nth(value, left)),
        _ => None,
    }
}

/// The document as TOML, which has no null; `None` where it cannot be said in it.
pub fn to_toml(whole: &Value) -> Option<String> {
    let text = toml::to_string(&without_null(whole)).ok()?;
    Some(NOT_IN_JSON.iter().fold(text, |text, word| text.replace(&format!("\"{word}\""), word)))
}

fn without_null(value: &Value) -> Value {
    match value {
        Value::Array(all) => all.iter().filter(|value| !value.is_null()).map(without_null).collect(),
        Value::Object(all) => {
            let some = all.iter().filter(|(_, value)| !value.is_null());
            Value::Object(some.map(|(name, value)| (name.clone(), without_null(value))).collect())
        }
        value => value.clone(),
    }
}

/// The lines of a document of one JSON value a line.
pub fn lines(text: &str) -> Value {
    text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON")).collect()
}

/// The elements of an array as lines, the form of each by `line`.
pub fn to_lines(all: &Value, line: impl Fn(&Value) -> Vec<u8>) -> Vec<u8> {
    all.as_array().into_iter().flatten().flat_map(|value| [line(value), b"\n".to_vec()].concat()).collect()
}
