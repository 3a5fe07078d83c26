//! One column of a table that terminal and page share: what it is called, what stands in it, and where the JSON document has it.

use study::Verdict;

use crate::case::table::columns::{Cell, Colour, Head, Row, Table};
use crate::case::table::wrap::cut;
use crate::markup::blocks;
use crate::{Html, visible};

/// Longest word over a column of the terminal, characters: a baseline may have a name of any length.
const LONGEST_OVER: usize = 24;

/// What a column reads from a row.
type Reader<'a, T, R> = Box<dyn Fn(&T) -> R + 'a>;

/// A column of a table whose rows are each about one `T`.
pub struct Column<'a, T> {
    id: &'static str,
    over: String,
    title: String,
    page_title: Option<String>,
    is_number: bool,
    is_why: bool,
    in_terminal: bool,
    on_page: bool,
    text: Reader<'a, T, String>,
    verdict: Option<Reader<'a, T, Option<Verdict>>>,
}

impl<'a, T> Column<'a, T> {
    /// Words, which stand to the left. `id` is where the JSON document has the field: its keys from the top, with `/` between them and
    /// none for the entries of lists; empty where that has no such field.
    pub(super) fn words(
        id: &'static str,
        title: impl Into<String>,
        text: impl Fn(&T) -> String + 'a,
    ) -> Self {
        Self {
            id,
            over: String::new(),
            title: title.into(),
            page_title: None,
            is_number: false,
            is_why: false,
            in_terminal: true,
            on_page: true,
            text: Box::new(text),
            verdict: None,
        }
    }

    /// A number, which stands to the right.
    pub(super) fn number(
        id: &'static str,
        title: impl Into<String>,
        text: impl Fn(&T) -> String + 'a,
    ) -> Self {
        Self { is_number: true, ..Self::words(id, title, text) }
    }

    /// Why a row is as it is: the last column, or in a narrow terminal a line below; nothing where no row has one.
    pub(super) fn why(text: impl Fn(&T) -> String + 'a) -> Self {
        Self { is_why: true, ..Self::words("", "why", text) }
    }

    /// What stands over the title: what it is compared with. The page has one line, and there it is the title.
    pub(super) fn over(self, over: &str) -> Self {
        Self { over: over.into(), ..self }.page_title(over)
    }

    /// What the page says instead of the title.
    pub(super) fn page_title(self, title: &str) -> Self {
        Self { page_title: Some(title.into()), ..self }
    }

    /// The page alone has it.
    pub(super) fn of_page(self) -> Self {
        Self { in_terminal: false, ..self }
    }

    /// The terminal alone has it.
    pub(super) fn of_terminal(self) -> Self {
        Self { on_page: false, ..self }
    }

    /// The terminal colours it by this verdict.
    pub(super) fn coloured_by(self, verdict: impl Fn(&T) -> Option<Verdict> + 'a) -> Self {
        Self { verdict: Some(Box::new(verdict)), ..self }
    }

    /// Where the JSON document has it: keys from the top, without the entries of lists; empty where it has no such field.
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// Its two lines in the head of the terminal's table; `None` where that does not have it.
    pub fn terminal_head(&self) -> Option<[String; 2]> {
        let over = || cut(&visible::one_line(&self.over), LONGEST_OVER);
        self.in_terminal.then(|| [over(), visible::one_line(&self.title).into_owned()])
    }

    /// Its title on the page; `None` where that does not have it.
    pub fn page_head(&self) -> Option<&str> {
        self.on_page.then(|| self.page_title.as_deref().unwrap_or(&self.title))
    }

    fn cell(&self, of: &T) -> Cell {
        let verdict = self.verdict.as_ref().and_then(|verdict| verdict(of));
        let text = (self.text)(of);
        Cell::coloured(visible::one_line(&text), verdict.map_or(Colour::Plain, colour))
    }
}

fn colour(verdict: Verdict) -> Colour {
    match verdict {
        Verdict::Better => Colour::Better,
        Verdict::Worse => Colour::Worse,
        Verdict::Equal => Colour::Plain,
        Verdict::Undecided | Verdict::NotAsAsked | Verdict::CannotTell | Verdict::Untrustworthy => {
            Colour::Dim
        }
    }
}

/// The table as the terminal has it. Foreign text cannot drive it.
pub(crate) fn in_terminal<T>(columns: &[Column<'_, T>], rows: &[T]) -> Table {
    let shown = columns.iter().filter(|column| column.in_terminal);
    let (whys, beside): (Vec<&Column<'_, T>>, Vec<&Column<'_, T>>) = shown.partition(|column| column.is_why);
    let head = |column: &&Column<'_, T>| {
        let [over, name] = column.terminal_head().unwrap_or_default();
        Head { over, name, right: column.is_number }
    };
    let row = |of: &T| Row {
        cells: beside.iter().map(|column| column.cell(of)).collect(),
        why: whys.iter().map(|why| visible::one_line(&(why.text)(of)).into_owned()).collect(),
    };
    Table { heads: beside.iter().map(head).collect(), rows: rows.iter().map(row).collect() }
}

/// Adds the table to a page.
pub(crate) fn on_page<T>(html: &mut Html, columns: &[Column<'_, T>], rows: &[T]) {
    let says_nothing = |column: &Column<'_, T>| rows.iter().all(|of| (column.text)(of).is_empty());
    let (mut heads, mut shown) = (Vec::new(), Vec::new());
    for column in columns.iter().filter(|column| !column.is_why || !says_nothing(column)) {
        if let Some(head) = column.page_head() {
            heads.push(head);
            shown.push(column);
        }
    }
    let numbers: Vec<usize> = (0..shown.len()).filter(|at| shown[*at].is_number).collect();
    let cells = |of: &T| shown.iter().map(|column| (column.text)(of)).collect::<Vec<String>>();
    let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
    blocks::table(html, &heads, &numbers, &rows);
}
