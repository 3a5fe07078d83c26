//! What a client gets: words and the figures behind them, both bounded; or what went wrong.

use machine::Fault;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use super::arguments::Detail;
use super::bounded::bounded;
use super::said::Said;

/// The most of a summary, bytes of JSON.
const MOST_OF_SUMMARY: usize = 16 << 10;

/// The most of a full answer, bytes of JSON.
const MOST_OF_FULL: usize = 64 << 10;

/// The most of the words, bytes.
const MOST_OF_WORDS: usize = 12 << 10;

/// An answer.
#[derive(Debug)]
pub struct Reply {
    /// In words, and as a summary.
    pub said: Said,
    /// All of it, as the verb printed it.
    pub document: Value,
    /// How much of it is wanted.
    pub detail: Detail,
}

/// As the protocol has it. A failure is an answer, too: the assistant reads what went wrong and what to do.
pub fn of(reply: Result<Reply, Fault>) -> CallToolResult {
    match reply {
        Ok(reply) => answered(&reply),
        Err(fault) => failed(&fault),
    }
}

fn answered(reply: &Reply) -> CallToolResult {
    let (wanted, most) = match reply.detail {
        Detail::Summary => (&reply.said.summary, MOST_OF_SUMMARY),
        Detail::Full => (&reply.document, MOST_OF_FULL),
    };
    let bounded = bounded(wanted, most);
    let mut words = cut(&reply.said.words);
    if !bounded.left_out.is_empty() {
        words += &format!("\nLeft out of the structured answer: {}.", bounded.left_out.join("; "));
    }
    let structured = json!({
        "detail": reply.detail,
        "answer": bounded.document,
        "left_out": bounded.left_out,
    });
    with_words(CallToolResult::structured(structured), words)
}

fn failed(fault: &Fault) -> CallToolResult {
    let structured = bounded(&json!({ "fault": fault }), MOST_OF_SUMMARY).document;
    with_words(CallToolResult::structured_error(structured), cut(&fault.to_string()))
}

/// The words in place of the JSON, which the client has already.
fn with_words(mut result: CallToolResult, words: String) -> CallToolResult {
    result.content = vec![ContentBlock::text(words)];
    result
}

/// So much of the words as fits, in whole lines where there are several.
fn cut(words: &str) -> String {
    if words.len() <= MOST_OF_WORDS {
        return words.to_string();
    }
    let end = (0..=MOST_OF_WORDS).rev().find(|at| words.is_char_boundary(*at)).unwrap_or_default();
    let start = &words[..end];
    let whole = start.rsplit_once('\n').map_or(start, |(lines, _)| lines);
    format!("{whole}\nThe rest of the words is left out.")
}

#[cfg(test)]
mod tests {
    use machine::Class;

    use super::*;

    fn reply(detail: Detail) -> Reply {
        let said = Said::of(vec!["nginx is fine".into()], json!({"limit": "load"}));
        Reply { said, document: json!({"limit": "load", "causes": []}), detail }
    }

    fn as_json(result: CallToolResult) -> Value {
        serde_json::to_value(result).unwrap()
    }

    #[test]
    fn an_answer_has_words_and_figures() {
        let summary = as_json(of(Ok(reply(Detail::Summary))));
        assert_eq!(summary["content"][0]["text"], "nginx is fine");
        assert_eq!(summary["structuredContent"]["answer"], json!({"limit": "load"}));
        let full = as_json(of(Ok(reply(Detail::Full))));
        assert_eq!(full["structuredContent"]["answer"]["causes"], json!([]));
        assert_eq!((&full["isError"], &full["structuredContent"]["detail"]), (&json!(false), &json!("full")));
    }

    #[test]
    fn a_failure_is_an_error_with_object_cause_and_remedy() {
        let fault = Fault::new(Class::Usage, "process a\u{202e}b", "no such process", "see ps -e");
        let failed = as_json(of(Err(fault)));
        assert_eq!(failed["isError"], true);
        assert_eq!(failed["content"][0]["text"], "process a\\u{202e}b: no such process - see ps -e");
        assert_eq!(failed["structuredContent"]["fault"]["cause"], "no such process");
    }

    #[test]
    fn what_is_too_long_ends_with_words_on_what_is_left_out() {
        let lines: Vec<String> = (0..10_000).map(|line| format!("line é {line}")).collect();
        let summary = json!({"lines": (0..10_000).map(|line| json!({"line": line})).collect::<Vec<_>>()});
        let said = Said::of(lines, summary);
        let reply = Reply { said, document: Value::Null, detail: Detail::Summary };
        let cut = as_json(of(Ok(reply)));
        let words = cut["content"][0]["text"].as_str().unwrap();
        assert!(words.contains("left out") && words.contains("of 10,000 entries"), "{words}");
        assert!(cut.to_string().len() < MOST_OF_SUMMARY + 2 * MOST_OF_WORDS);
    }
}
