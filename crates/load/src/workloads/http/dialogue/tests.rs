use proptest::prelude::*;

use super::*;

fn client(keys: &str) -> Http {
    let plan = Plan::of(&toml::from_str(keys).unwrap(), "127.0.0.1:80".parse().unwrap()).unwrap();
    Http::new(plan)
}

/// What a client that has asked makes of these bytes in pieces that end there.
fn heard(keys: &str, bytes: &[u8], ends: &[usize]) -> Vec<News> {
    let mut client = client(keys);
    let (mut news, mut out, mut from) = (Vec::new(), Vec::new(), 0);
    client.open(&mut out);
    client.ask(0, 0, &mut out);
    for end in ends.iter().copied().chain([bytes.len()]) {
        if end >= from {
            from += client.hear(&bytes[from..end], &mut out, &mut news);
        }
    }
    news
}

fn why(keys: &str, answer: &str) -> String {
    let mut news = heard(keys, answer.as_bytes(), &[]);
    assert_eq!(news.len(), 1, "{news:?}");
    match news.remove(0) {
        News::Wrong(0, words) | News::Over(words) => words,
        other => panic!("{other:?}"),
    }
}

/// As nginx sends it: `return 200 ok`.
const OK: &str = "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sun, 22 Nov 2026 19:00:00 GMT\r\nContent-Type: text/plain\r\n\
                  Content-Length: 2\r\nConnection: keep-alive\r\n\r\nok";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;a=b\r\nwiki\r\n5\r\npedia\r\n0\r\nSeen: yes\r\n\r\n";

#[test]
fn answers_end_where_they_say() {
    for (keys, answer) in [
        ("", OK),
        ("expect_body = 'ok'", OK),
        ("expect_body = 'wikipedia'", CHUNKED),
        ("", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
        ("expect_body = ''", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
        ("status = 204", "HTTP/1.1 204 No Content\r\n\r\n"),
        ("method = 'HEAD'", "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n"),
        ("", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"),
    ] {
        assert_eq!(heard(keys, answer.as_bytes(), &[]), [News::Answered(0)], "{keys} {answer}");
        let almost = &answer[..answer.len() - 1];
        assert_eq!(heard(keys, almost.as_bytes(), &[]), [], "{keys} {almost}");
    }
}

#[test]
fn what_is_not_the_answer_is_wrong_in_words() {
    assert_eq!(why("status = 404", OK), "status 200 OK, where 404 has to be");
    assert_eq!(why("expect_body = 'okay'", OK), "a body of 2 bytes, where 4 have to be");
    assert_eq!(why("expect_body = 'o'", OK), "the body differs from byte 1 on: 'k'");
    assert_eq!(why("expect_body = 'wikimedia'", CHUNKED), "the body differs from byte 4 on: 'pedia'");
    assert_eq!(
        why("", "HTTP/1.1 101 Switching Protocols\r\n\r\n"),
        "status 101 Switching Protocols, where 200 has to be"
    );
}

#[test]
fn a_first_answer_of_an_error_ends_the_run_unless_it_is_declared() {
    const MISSING: &str = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    let news = heard("", MISSING.as_bytes(), &[]);
    let [News::Refused(refusal)] = &news[..] else { panic!("{news:?}") };
    assert!(
        refusal.cause.contains("'HTTP/1.1 404 Not Found'") && refusal.cause.contains("200"),
        "{refusal:?}"
    );
    assert!(refusal.remedy.contains("status"), "{refusal:?}");
    assert_eq!(heard("status = 404", MISSING.as_bytes(), &[]), [News::Answered(0)]);
    let mut client = client("");
    let mut news = Vec::new();
    for answer in [OK, MISSING] {
        client.ask(0, 0, &mut Vec::new());
        client.hear(answer.as_bytes(), &mut Vec::new(), &mut news);
    }
    assert_eq!(client.first_answer(), Some("HTTP/1.1 200 OK"));
    assert!(matches!(&news[..], [News::Answered(0), News::Wrong(0, _)]), "{news:?}");
}

#[test]
fn answers_whose_end_cannot_be_known_end_the_connection() {
    assert!(why("", "HTTP/1.1 200 OK\r\n\r\n").contains("does not say how long it is"));
    assert!(
        why("", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n")
            .contains("not one number")
    );
    assert!(why("", "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n").contains("not one number"));
    assert!(
        why("", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n").contains("size of a chunk")
    );
    assert!(
        why("", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n")
            .contains("longer than it says")
    );
    assert!(why("", "SSH-2.0-OpenSSH_9.2\r\n").contains("no HTTP/1.1"));
    assert!(why("", &format!("HTTP/1.1 200 OK\r\nA: {}", "a".repeat(70_000))).contains("no end"));
    let news = heard("", format!("{OK}HTTP/1.1 400 Bad Request\r\n").as_bytes(), &[]);
    assert!(matches!(&news[..], [News::Answered(0), News::Over(_)]), "{news:?}");
}

#[test]
fn a_server_that_ends_the_connection_after_its_answer_is_believed() {
    let kept = |answer: &str| {
        let mut client = client("");
        let mut news = Vec::new();
        client.ask(0, 0, &mut Vec::new());
        client.hear(answer.as_bytes(), &mut Vec::new(), &mut news);
        assert_eq!(news, [News::Answered(0)]);
        client.goes_on()
    };
    assert!(kept(OK) && kept(CHUNKED));
    assert!(!kept("HTTP/1.1 200 OK\r\nConnection: foo, Close\r\nContent-Length: 0\r\n\r\n"));
    assert!(!kept("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
    assert!(kept("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"));
}

proptest! {
    #[test]
    fn any_split_gives_the_same_news(mut ends in prop::collection::vec(0usize..260, 0..12), which in 0usize..6) {
        let (keys, answer) = [
            ("", OK.to_string()),
            ("expect_body = 'wikipedia'", CHUNKED.to_string()),
            ("expect_body = 'wikimedia'", CHUNKED.to_string()),
            ("", format!("{OK}more")),
            ("status = 201", OK.to_string()),
            ("", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n".to_string()),
        ][which].clone();
        ends.iter_mut().for_each(|end| *end = (*end).min(answer.len()));
        ends.sort_unstable();
        let shape = |news: Vec<News>| news.into_iter().map(|item| match item {
            // Where a body differs is the same; how much of it is shown hangs on how much has come.
            News::Wrong(lane, words) => News::Wrong(lane, words.split(": ").next().unwrap_or_default().into()),
            other => other,
        }).collect::<Vec<_>>();
        prop_assert_eq!(shape(heard(keys, answer.as_bytes(), &ends)), shape(heard(keys, answer.as_bytes(), &[])));
    }

    #[test]
    fn hostile_bytes_end_the_connection_and_nothing_else(
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        start in prop::sample::select(vec![
            "", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        ]),
    ) {
        let mut whole = start.as_bytes().to_vec();
        whole.extend(&bytes);
        let news = heard("expect_body = 'wikipedia'", &whole, &[bytes.len() / 2]);
        prop_assert!(news.len() <= 2, "one answer, and perhaps the end: {:?}", news);
    }
}
