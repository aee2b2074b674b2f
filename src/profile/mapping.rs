//! Parses a profile's `mapping`: a table from atomic operations to assembly, or to functions of libraries.
//!
//! A row is named by operation, order and width (`load acquire|seq_cst 32|64`). This file does not
//! know what the code means, or how it gets into a program.

use std::collections::BTreeMap;

use litmake_base::diag::nearest;

/// The operations that a table may have.
pub const OPERATIONS: [&str; 10] = [
    "load",
    "store",
    "exchange",
    "fetch_add",
    "fetch_sub",
    "fetch_and",
    "fetch_or",
    "fetch_xor",
    "compare_exchange",
    "fence",
];

/// The orders, with the number that compilers give them.
pub const ORDERS: [(&str, u8); 5] =
    [("relaxed", 0), ("acquire", 2), ("release", 3), ("acq_rel", 4), ("seq_cst", 5)];

/// The widths in bits that rows can have.
pub const WIDTHS: [u8; 4] = [8, 16, 32, 64];

/// The key for operations without a row.
pub const OTHERWISE: &str = "*";
const REFUSE: &str = "refuse";

/// A row: some operations, and the code that they have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    operations: Vec<&'static str>,
    orders: Vec<u8>,
    /// The order of a compare-exchange that fails.
    failure: Vec<u8>,
    widths: Vec<u8>,
    code: Vec<String>,
    /// How many words of its name are wildcards.
    vague: usize,
}

/// A table from operations to their code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    rows: Vec<Row>,
    /// Whether operations without a row are refused. Otherwise the compiler decides.
    pub refuses: bool,
}

/// One operation: name, order, order on failure, and width in bits (0 for fences).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// One of [`OPERATIONS`].
    pub name: &'static str,
    /// One of [`ORDERS`], by its number.
    pub order: u8,
    /// The order of a compare-exchange that fails; otherwise equal to `order`.
    pub failure: u8,
    /// One of [`WIDTHS`], or 0.
    pub width: u8,
}

impl Table {
    /// Reads the table of a profile.
    pub fn read(mapping: &BTreeMap<String, Vec<String>>) -> Result<Table, String> {
        let mut out = Table::default();
        for (key, code) in mapping {
            if key == OTHERWISE {
                if code.len() != 1 || code[0] != REFUSE {
                    return Err(format!("`{OTHERWISE}` can only say `{REFUSE}`"));
                }
                out.refuses = true;
                continue;
            }
            let mut row = row(key)?;
            let lines = code.iter().flat_map(|l| l.split([';', '\n']));
            row.code = lines.map(|l| l.trim().to_string()).filter(|l| !l.is_empty()).collect();
            for line in &row.code {
                check(key, line)?;
            }
            if let Some(call) = row.code.iter().find_map(|line| called(line))
                && row.code.len() > 1
            {
                let name = call.function;
                return Err(format!("`{key}`: a call of a function stands alone: `{name}(...)`"));
            }
            out.rows.push(row);
        }
        Ok(out)
    }

    /// Whether the compiler decides about all operations.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && !self.refuses
    }

    /// Whether all rows are sequentially consistent.
    pub fn has_one_order(&self) -> bool {
        let is_sc = |order: &u8| ORDERS.iter().any(|(name, n)| n == order && *name == "seq_cst");
        self.rows.iter().all(|r| r.orders.iter().chain(&r.failure).all(is_sc))
    }

    /// The code of an operation, from the row with the most specific name.
    pub fn code(&self, of: &Operation) -> Option<&[String]> {
        let fits = |r: &&Row| {
            r.operations.contains(&of.name)
                && r.orders.contains(&of.order)
                && (of.name != "compare_exchange" || r.failure.contains(&of.failure))
                && (of.name == "fence" || r.widths.contains(&of.width))
        };
        self.rows.iter().filter(fits).min_by_key(|r| r.vague).map(|r| &*r.code)
    }
}

/// The names of places in code, which are replaced by operands. The last six are for calls alone; `bytes` and
/// `name` stand in names of functions.
pub const PLACES: [&str; 14] = [
    "address", "result", "value", "expected", "temp", "temp2", "op", "size", "found", "order",
    "failure", "success", "bytes", "name",
];

/// A call of a function, as a row writes it: `{result} = __atomic_load_4({address}, {order})`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call<'l> {
    /// The place that takes its value: `result` or `success`.
    pub gives: Option<&'l str>,
    /// The symbol; `{bytes}` in it is the width, and `{name}` the name of the operation.
    pub function: &'l str,
    /// The arguments: places in braces, or numbers.
    pub args: Vec<&'l str>,
}

/// The call that a line is; `None` if it is assembly.
pub fn called(line: &str) -> Option<Call<'_>> {
    let (gives, call) = match line.split_once('=') {
        Some((place, call)) => {
            let place = place.trim().strip_prefix('{')?.strip_suffix('}')?;
            (Some(place), call.trim())
        }
        None => (None, line.trim()),
    };
    let (function, args) = call.strip_suffix(')')?.split_once('(')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    let bare = function.replace("{bytes}", "").replace("{name}", "");
    if function.is_empty() || !bare.chars().all(is_name) {
        return None;
    }
    let args = args.split(',').map(str::trim).filter(|a| !a.is_empty()).collect();
    Some(Call { gives, function, args })
}

/// A place in a line: the text before it, its name, and the text after a colon in it.
type Slot<'l> = (&'l str, &'l str, &'l str);

/// The places of a line, and the text after the last one.
pub fn places(line: &str) -> Result<(Vec<Slot<'_>>, &str), String> {
    let mut out = Vec::new();
    let mut rest = line;
    while let Some(open) = rest.find('{') {
        let Some(close) = rest[open..].find('}').map(|n| open + n) else {
            return Err(format!("`{line}` has a `{{` without `}}`"));
        };
        let inside = &rest[open + 1..close];
        let (name, modifier) = inside.split_once(':').unwrap_or((inside, ""));
        out.push((&rest[..open], name, modifier));
        rest = &rest[close + 1..];
    }
    Ok((out, rest))
}

fn check(key: &str, line: &str) -> Result<(), String> {
    for (_, name, modifier) in places(line)?.0 {
        if !PLACES.contains(&name) {
            let help = nearest(name, PLACES.iter().copied())
                .map_or(format!("there are {}", PLACES.join(", ")), |n| format!("`{n}`?"));
            return Err(format!("`{key}`: there is no place `{{{name}}}`: {help}"));
        }
        if modifier.len() > 1 || !modifier.chars().all(|c| c.is_ascii_alphabetic()) {
            return Err(format!("`{key}`: `{modifier}` is no letter that operands can have"));
        }
    }
    Ok(())
}

fn row(key: &str) -> Result<Row, String> {
    let words: Vec<&str> = key.split_whitespace().collect();
    let usage = "rows are named like `load seq_cst 32`, `store * 8|16`, `fence acquire` or \
                 `compare_exchange acq_rel acquire 64`";
    let wrong = |what: String| format!("`{key}`: {what}; {usage}");
    let name = words.first().ok_or_else(|| wrong("it has no operation".into()))?;
    let mut vague = 0;
    let mut operations = Vec::new();
    for part in name.split('|') {
        let found: Vec<&'static str> = match part {
            "rmw" => OPERATIONS
                .into_iter()
                .filter(|o| *o == "exchange" || o.starts_with("fetch"))
                .collect(),
            "fetch_*" => OPERATIONS.into_iter().filter(|o| o.starts_with("fetch")).collect(),
            _ => OPERATIONS.into_iter().filter(|o| *o == part).collect(),
        };
        vague += usize::from(found.len() > 1);
        if found.is_empty() {
            let near = nearest(part, OPERATIONS).map_or(String::new(), |n| format!(" (`{n}`?)"));
            return Err(wrong(format!("`{part}` is no operation{near}")));
        }
        operations.extend(found);
    }
    let (cas, fence) = (operations.contains(&"compare_exchange"), operations == ["fence"]);
    if operations.len() > 1 && (cas || operations.contains(&"fence")) {
        return Err(wrong("these operations cannot share a row".into()));
    }
    let expected = 1 + 1 + usize::from(cas) + usize::from(!fence);
    if words.len() != expected {
        return Err(wrong(format!("it has {} words and not {expected}", words.len())));
    }
    let mut orders = |word: &str| -> Result<Vec<u8>, String> {
        if word == "*" {
            vague += 1;
            return Ok(ORDERS.iter().map(|(_, n)| *n).collect());
        }
        let one = |part: &str| {
            let found = ORDERS.iter().find(|(name, _)| *name == part).map(|(_, n)| *n);
            found.ok_or_else(|| wrong(format!("`{part}` is no order")))
        };
        word.split('|').map(one).collect()
    };
    let order = orders(words[1])?;
    let failure = if cas { orders(words[2])? } else { Vec::new() };
    let widths = match (fence, words.last()) {
        (true, _) | (_, None) => Vec::new(),
        (_, Some(&"*")) => {
            vague += 1;
            WIDTHS.to_vec()
        }
        (_, Some(list)) => {
            let one = |part: &str| {
                let found = part.parse().ok().filter(|w| WIDTHS.contains(w));
                found
                    .ok_or_else(|| wrong(format!("`{part}` is no width; widths are 8, 16, 32, 64")))
            };
            list.split('|').map(one).collect::<Result<_, String>>()?
        }
    };
    Ok(Row { operations, orders: order, failure, widths, code: Vec::new(), vague })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(&str, &str)]) -> Result<Table, String> {
        let map = rows.iter().map(|(k, v)| (k.to_string(), vec![v.to_string()])).collect();
        Table::read(&map)
    }

    #[test]
    fn the_row_that_says_most_counts() {
        let t =
            table(&[("load * *", "any"), ("load seq_cst *", "sc"), ("load seq_cst 64", "d; e")])
                .unwrap();
        let code = |order, width| {
            let of = Operation { name: "load", order, failure: 0, width };
            t.code(&of).map(<[String]>::to_vec).unwrap_or_default()
        };
        assert_eq!(code(0, 8), ["any"]);
        assert_eq!(code(5, 8), ["sc"]);
        assert_eq!(code(5, 64), ["d", "e"]);
        let store = Operation { name: "store", order: 5, failure: 0, width: 8 };
        assert_eq!(t.code(&store), None);
    }

    #[test]
    fn calls_are_told_from_assembly() {
        let call = called("{result} = __atomic_load_4({address}, {order})").unwrap();
        assert_eq!(call.gives, Some("result"));
        assert_eq!((call.function, call.args), ("__atomic_load_4", vec!["{address}", "{order}"]));
        let named =
            called("{result} = __atomic_{name}_{bytes}({address}, {value}, {order})").unwrap();
        assert_eq!(named.function, "__atomic_{name}_{bytes}");
        assert_eq!(called("__sync_synchronize()").unwrap().args, Vec::<&str>::new());
        for line in
            ["lock incl ({address})", "ldr {result}, [{address}]", "mov {temp}, ({address})"]
        {
            assert_eq!(called(line), None, "{line}");
        }
        let error = table(&[("load * 32", "{result} = load({address}); dmb ish")]).unwrap_err();
        assert!(error.contains("a call of a function stands alone"), "{error}");
    }

    #[test]
    fn wrong_rows_are_named() {
        let error = |key: &str, code: &str| table(&[(key, code)]).unwrap_err();
        assert!(error("lod seq_cst 32", "").contains("`lod` is no operation (`load`?)"));
        assert!(error("load 32", "").contains("it has 2 words and not 3"));
        assert!(error("load strong 32", "").contains("`strong` is no order"));
        assert!(error("load seq_cst 12", "").contains("`12` is no width"));
        assert!(error("fence seq_cst 32", "").contains("it has 3 words and not 2"));
        assert!(error("load seq_cst 32", "ld {adress}").contains("`address`?"));
        assert!(error("load seq_cst 32", "ld {address").contains("without `}`"));
        assert!(error("*", "ignore").contains("can only say `refuse`"));
    }
}
