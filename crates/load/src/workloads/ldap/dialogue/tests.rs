use proptest::prelude::*;

use super::super::hex::hex;
use super::*;

const BOUND: &str = "300c02010161070a010004000400";
const REFUSED: &str = "300c02010161070a013104000400";
const NOTICE: &str = "303802010078330a010204000414756e6b6e6f776e204c444150207265717565737\
                      48a16312e332e362e312e342e312e313436362e3230303336";

fn client(text: &str) -> Ldap {
    Ldap::new(Plan::of(&toml::from_str(text).unwrap()).unwrap(), 0)
}

fn binding() -> Ldap {
    client("bind_dn = 'uid=user7,dc=example,dc=com'\npassword = 'secret7'")
}

fn searching(keys: &str) -> Ldap {
    client(&format!("operation = 'search'\nbase = 'dc=example,dc=com'\nfilter = '(uid=user7)'\n{keys}"))
}

/// What a client that has asked makes of these bytes in pieces that end there; with what it says to them.
fn heard(client: &mut Ldap, bytes: &[u8], ends: &[usize]) -> (Vec<News>, Vec<u8>) {
    let (mut news, mut out, mut from) = (Vec::new(), Vec::new(), 0);
    for end in ends.iter().copied().chain([bytes.len()]) {
        if end >= from {
            from += client.hear(&bytes[from..end], &mut out, &mut news);
        }
    }
    (news, out)
}

fn asked(client: &mut Ldap) -> Vec<u8> {
    let mut out = Vec::new();
    if client.open(&mut out) {
        client.ask(0, 0, &mut out);
    }
    out
}

fn answers(mut client: Ldap, digits: &str) -> Vec<News> {
    asked(&mut client);
    heard(&mut client, &hex(digits), &[]).0
}

fn why(mut news: Vec<News>) -> String {
    assert_eq!(news.len(), 1, "{news:?}");
    match news.remove(0) {
        News::Wrong(0, words) => words,
        other => panic!("{other:?}"),
    }
}

fn over(mut news: Vec<News>) -> String {
    assert_eq!(news.len(), 1, "{news:?}");
    match news.remove(0) {
        News::Over(words) => words,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_bind_is_what_libldap_sends_and_slapd_answers() {
    let mut client = binding();
    let sent =
        "302e0201016029020103041b7569643d75736572372c64633d6578616d706c652c64633d636f6d800773656372657437";
    assert_eq!(asked(&mut client), hex(sent));
    assert_eq!(heard(&mut client, &hex(BOUND), &[]).0, [News::Answered(0)]);
    let mut out = Vec::new();
    client.ask(0, 1, &mut out);
    assert_eq!(out[4], 2, "messages are numbered");
    assert_eq!(heard(&mut client, &hex("300c02010261070a010004000400"), &[]).0, [News::Answered(0)]);
    out.clear();
    client.close(&mut out);
    assert_eq!(out, hex("30050201034200"));
}

#[test]
fn what_is_not_the_answer_is_wrong_in_words() {
    assert_eq!(
        why(answers(binding(), REFUSED)),
        "bind as uid=user7,dc=example,dc=com: invalidCredentials (49)"
    );
    assert!(
        why(answers(binding(), "300c02010261070a010004000400"))
            .contains("message 2 (success (0)) came, where request 1")
    );
    assert!(
        why(answers(binding(), "300c02010165070a013304000400")).contains("end of a search, busy (51)"),
        "the end of a search"
    );
    assert!(why(answers(binding(), "300c02010161070a016304000400")).contains("(99)"));
    assert!(why(answers(searching(""), "300c02010165070a012004000400")).contains("noSuchObject (32)"));
    // ldapsearch -z 2: the entries came, and not all of them.
    let limited = "3024020101641f041b7569643d75736572302c64633d6578616d706c652c64633d636f6d3000\
                   3024020101641f041b7569643d75736572312c64633d6578616d706c652c64633d636f6d3000300c02010165070a010404000400";
    assert!(why(answers(searching("entries = 2"), limited)).contains("sizeLimitExceeded (4)"));
}

#[test]
fn the_server_that_ends_the_connection_is_heard() {
    let words = over(answers(binding(), NOTICE));
    assert_eq!(
        words,
        "the server ends the connection: protocolError (2), the server says: unknown LDAP request"
    );
    let words = over(heard(&mut binding(), &hex(BOUND), &[]).0);
    assert!(words.contains("nothing was asked"), "{words}");
    assert!(over(answers(binding(), "485454502f312e31")).contains("not an LDAP message"));
    let news = answers(binding(), &format!("{BOUND}{NOTICE}"));
    assert!(matches!(&news[..], [News::Answered(0), News::Over(_)]), "{news:?}");
}

const ONE_ENTRY: &str = "3024020101641f041b7569643d75736572372c64633d6578616d706c652c64633d636f6d3000\
                         300c02010165070a010004000400";

#[test]
fn entries_are_counted_and_their_dn_is_looked_at() {
    assert_eq!(answers(searching("entries = 1"), ONE_ENTRY), [News::Answered(0)]);
    assert_eq!(answers(searching(""), "300c02010165070a010004000400"), [News::Answered(0)]);
    assert!(why(answers(searching(""), ONE_ENTRY)).contains("1 entries, where 0 have to be"));
    let expect = "entries = 1\nexpect_dn = 'UID=user7,dc=example,dc=com'";
    assert_eq!(answers(searching(expect), ONE_ENTRY), [News::Answered(0)]);
    let words = why(answers(searching("entries = 1\nexpect_dn = 'uid=user8,dc=example,dc=com'"), ONE_ENTRY));
    assert_eq!(
        words,
        "search: found uid=user7,dc=example,dc=com, where uid=user8,dc=example,dc=com has to be"
    );
    let elsewhere = "300c02010173070405613a2f2f62300c02010165070a010004000400";
    assert!(why(answers(searching(""), elsewhere)).contains("another server"));
}

#[test]
fn a_search_binds_first_where_a_bind_dn_is_given() {
    let mut client = searching("bind_dn = 'uid=user7,dc=example,dc=com'\npassword = 'secret7'");
    let mut out = Vec::new();
    assert!(!client.open(&mut out), "requests have to wait");
    assert_eq!(heard(&mut client, &hex(BOUND), &[]).0, [News::Ready]);
    client.ask(0, 0, &mut out);
    assert_eq!(heard(&mut client, &hex("300c02010265070a010004000400"), &[]).0, [News::Answered(0)]);
    assert!(!client.open(&mut out), "a fresh connection is nobody's");
    assert!(
        over(heard(&mut client, &hex(REFUSED), &[]).0)
            .contains("before the first search: invalidCredentials")
    );
}

fn search_binding() -> Ldap {
    client(
        "operation = 'search-bind'\nbase = 'dc=example,dc=com'\nfilter = '(uid=user{n})'\npassword = 'secret{n}'\n\
         users = 8\nbind_dn = 'uid=user{n},dc=example,dc=com'\nseed = 3",
    )
}

/// A client that asked for user 7, which this seed draws within the first requests.
fn search_binding_of_user_7() -> Ldap {
    let mut client = search_binding();
    asked(&mut client);
    while client.user != 7 {
        asked(&mut client);
    }
    client
}

#[test]
fn what_a_search_found_is_bound_as() {
    let (news, out) = heard(&mut search_binding_of_user_7(), &hex(ONE_ENTRY), &[]);
    assert_eq!(news, []);
    let sent =
        "302e0201026029020103041b7569643d75736572372c64633d6578616d706c652c64633d636f6d800773656372657437";
    assert_eq!(out, hex(sent));
    let whole = format!("{ONE_ENTRY}300c02010261070a010004000400");
    assert_eq!(heard(&mut search_binding_of_user_7(), &hex(&whole), &[]).0, [News::Answered(0)]);
    let refused = format!("{ONE_ENTRY}300c02010261070a013104000400");
    let words = why(heard(&mut search_binding_of_user_7(), &hex(&refused), &[]).0);
    assert_eq!(words, "bind as uid=user7,dc=example,dc=com: invalidCredentials (49)");
}

#[test]
fn every_entry_has_its_turn_and_connections_differ() {
    let mut drawn = [0u32; 8];
    let mut client = search_binding();
    for _ in 0..8_000 {
        asked(&mut client);
        drawn[client.user as usize] += 1;
    }
    assert!(drawn.iter().all(|times| (850..1_150).contains(times)), "{drawn:?}");
    let of = |connection| {
        let mut client = Ldap::new(search_binding().plan, connection);
        (0..20).map(|_| (asked(&mut client), client.user).1).collect::<Vec<_>>()
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn a_request_needs_no_memory_of_its_own() {
    let mut client = search_binding_of_user_7();
    let (mut out, mut news) = (Vec::with_capacity(512), Vec::with_capacity(4));
    heard(&mut client, &hex(ONE_ENTRY), &[]);
    let held = |client: &Ldap| (client.found_dn.as_ptr(), client.wanted_dn.as_ptr());
    let before = held(&client);
    for _ in 0..100 {
        client.open(&mut out);
        client.ask(0, 0, &mut out);
        client.user = 7;
        client.hear(&hex(ONE_ENTRY), &mut out, &mut news);
        out.clear();
        news.clear();
    }
    assert_eq!((held(&client), out.capacity(), news.capacity()), (before, 512, 4));
}

proptest! {
    #[test]
    fn any_split_gives_the_same_news(mut ends in prop::collection::vec(0usize..200, 0..12), which in 0usize..6) {
        let answer = [
            format!("{ONE_ENTRY}300c02010261070a010004000400"),
            format!("{ONE_ENTRY}300c02010261070a013104000400"),
            format!("{ONE_ENTRY}{ONE_ENTRY}"),
            format!("{ONE_ENTRY}{NOTICE}"),
            "300c02010165070a010004000400".into(),
            format!("{REFUSED}{BOUND}"),
        ];
        let bytes = hex(&answer[which]);
        ends.iter_mut().for_each(|end| *end = (*end).min(bytes.len()));
        ends.sort_unstable();
        let whole = heard(&mut search_binding_of_user_7(), &bytes, &[]);
        prop_assert_eq!(heard(&mut search_binding_of_user_7(), &bytes, &ends), whole);
    }

    #[test]
    fn hostile_bytes_end_the_connection_and_nothing_else(
        mut bytes in prop::collection::vec(any::<u8>(), 0..60),
        from_a_real_one: bool,
        at in 0usize..38,
    ) {
        if from_a_real_one {
            let mut real = hex(ONE_ENTRY);
            real.splice(at..(at + bytes.len()).min(real.len()), bytes.iter().copied());
            bytes = real;
        }
        for mut client in [binding(), searching("entries = 1"), search_binding()] {
            asked(&mut client);
            let mut news = Vec::new();
            let mut out = Vec::new();
            prop_assert!(client.hear(&bytes, &mut out, &mut news) <= bytes.len());
            prop_assert!(news.len() <= 2, "one answer, and perhaps the end: {:?}", news);
        }
    }
}
