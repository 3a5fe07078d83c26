//! The text of a profile: sections of `option=value`, as Python's configparser reads them for tuned.

/// A section and its options, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Section {
    /// What stands in brackets; empty for what stands before the first section.
    pub name: String,
    /// Options with their values, each option once.
    pub options: Vec<(String, String)>,
}

impl Section {
    /// The value of an option.
    pub fn get(&self, option: &str) -> Option<&str> {
        self.options.iter().find(|(name, _)| name == option).map(|(_, value)| value.as_str())
    }

    /// Sets an option, in the place of what it was.
    pub fn set(&mut self, option: &str, value: &str) {
        match self.options.iter_mut().find(|(name, _)| name == option) {
            Some((_, old)) => *old = value.to_string(),
            None => self.options.push((option.to_string(), value.to_string())),
        }
    }
}

/// The sections of a text, and the lines that are neither options nor sections. A section that comes again is continued.
pub(super) fn parse(text: &str) -> (Vec<Section>, Vec<String>) {
    let (mut sections, mut odd): (Vec<Section>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut at, mut last) = (section(&mut sections, ""), None::<String>);
    for line in text.lines() {
        let bare = without_comment(line).trim();
        if bare.is_empty() {
            // An empty line ends a value of several lines, a comment does not.
            if line.trim().is_empty() {
                last = None;
            }
            continue;
        }
        if let Some(option) = last.as_ref().filter(|_| line.starts_with(char::is_whitespace)) {
            let longer = format!("{} {bare}", sections[at].get(option).unwrap_or_default());
            sections[at].set(option, longer.trim());
            continue;
        }
        if let Some(name) = bare.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            (at, last) = (section(&mut sections, name.trim()), None);
            continue;
        }
        match bare.split_once('=') {
            Some((option, value)) if !option.trim().is_empty() => {
                sections[at].set(option.trim(), value.trim());
                last = Some(option.trim().to_string());
            }
            _ => {
                odd.push(bare.to_string());
                last = None;
            }
        }
    }
    sections.retain(|section| !section.name.is_empty() || !section.options.is_empty());
    (sections, odd)
}

/// Where the section of that name is; it is added where there is none.
fn section(sections: &mut Vec<Section>, name: &str) -> usize {
    match sections.iter().position(|section| section.name == name) {
        Some(at) => at,
        None => {
            sections.push(Section { name: name.to_string(), options: Vec::new() });
            sections.len() - 1
        }
    }
}

/// A comment begins with `#` at the start of the line or behind a blank, or with `;` at the start.
fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with([';', '#']) {
        return "";
    }
    let end = line.char_indices().find(|(i, letter)| {
        *letter == '#' && line[..*i].chars().next_back().is_some_and(char::is_whitespace)
    });
    end.map_or(line, |(i, _)| &line[..i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_options_comments_and_long_values_are_read() {
        let text = "a=0\n# one\n[main]\nsummary = Over # here\n  goes on\n\n; two\n[sysctl]\nvm.x=1\nvm.x = 2#3\nodd\n\
                    [main]\ninclude=b\n";
        let (sections, odd) = parse(text);
        let names: Vec<&str> = sections.iter().map(|section| section.name.as_str()).collect();
        assert_eq!(names, ["", "main", "sysctl"]);
        assert_eq!(sections[1].get("summary"), Some("Over goes on"));
        assert_eq!((sections[1].get("include"), sections[1].get("vm.x")), (Some("b"), None));
        assert_eq!(sections[2].options, [("vm.x".to_string(), "2#3".to_string())]);
        assert_eq!(odd, ["odd"]);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(?s)([ \\[\\]=#;a-c\n]|.){0,80}") {
            let (sections, _) = parse(&text);
            for section in sections {
                proptest::prop_assert!(section.options.iter().all(|(name, _)| !name.is_empty()));
            }
        }
    }
}
