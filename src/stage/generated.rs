//! A source of items: tests that litmake generates. They depend only on the options. For a sample,
//! the texts are stored with the list, so that the tests that it is drawn from are made once.

use std::sync::{Mutex, MutexGuard};

use globset::{Glob, GlobSet, GlobSetBuilder};

use litmake_base::diag::{Diag, Result, Source, Span};
use litmake_base::digest::{Digest, Keyer};
use litmake_base::records::{Kind, Put, Records};
use litmake_engine::graph::{self, Counts};
use litmake_engine::rows::{Entry, decode_entries, encode_entries};
use litmake_generate::dialect;
use litmake_generate::draft::Ask;
use litmake_generate::recipe::Recipe;
use litmake_litmus::Arch;
use litmake_pipeline::kinds::Generate;
use litmake_profile::yaml::{Sp, Words};
use litmake_select::collect::{Collected, Wanted, collect};
use litmake_select::filter::Filter;

/// Tests that are made for the options of a `generate` stage, or of the command.
pub struct Generated {
    /// The cycles that are asked for.
    pub recipe: Recipe,
    families: Vec<Source>,
    /// Tests with these names are left out.
    exclude: GlobSet,
    /// The words of `exclude` and `keep`, as written.
    words: [Vec<String>; 2],
    keep: Filter,
    /// The words of `keep`, with their file, for diagnostics.
    keep_words: (Source, Vec<Sp<String>>),
    limit: usize,
    sample: Option<(usize, u64)>,
    /// How many variants with scopes each test gets, and the seed of what is drawn.
    scopes: Option<(u64, u64)>,
    made: Mutex<Option<Collected>>,
    counts: Mutex<Counts>,
}

impl Generated {
    /// The tests for options that stand in `source`; an error if they are wrong.
    pub fn new(source: &Source, span: Span, options: &Generate) -> Result<Generated> {
        let at = |span: Span, message: String| Diag::at(source, span, message);
        let words = |list: &Words| -> Vec<Source> {
            list.iter().map(|w| super::items::text(source, w)).collect()
        };
        let recipe = recipe(source, span, options)?;
        let families = words(&options.families);
        if recipe.is_empty() && families.is_empty() {
            return Err(at(span, "there is nothing to make tests from".into())
                .help("give `vocabulary`, `cycles` or `families`"));
        }
        // Errors are reported before anything runs.
        recipe.prepare()?;
        for family in &families {
            litmake_generate::families::check(family)?;
        }
        let mut exclude = GlobSetBuilder::new();
        for glob in options.exclude.iter() {
            exclude.add(Glob::new(&glob.value).map_err(|e| at(glob.span, e.to_string()))?);
        }
        let exclude = exclude.build().map_err(|e| at(span, e.to_string()))?;
        let seed = options.seed.as_ref().map_or(0, |s| s.value);
        Ok(Generated {
            recipe,
            families,
            exclude,
            words: [&options.exclude, &options.keep]
                .map(|list| list.iter().map(|w| w.value.clone()).collect()),
            keep: super::files::filter(source, options)?,
            keep_words: (source.clone(), options.keep.0.clone()),
            limit: number(&options.limit, usize::MAX),
            sample: options.sample.as_ref().map(|_| (number(&options.sample, usize::MAX), seed)),
            scopes: options.scopes.as_ref().map(|n| (n.value, seed)),
            made: Mutex::default(),
            counts: Mutex::default(),
        })
    }

    /// Makes all tests.
    pub fn collect(&self) -> Result<Collected> {
        let jobs = std::thread::available_parallelism().map_or(1, |n| n.get());
        let some = !self.exclude.is_empty();
        let wanted = Wanted {
            excluded: &|name| some && self.exclude.is_match(file(name)),
            keep: &self.keep,
            sample: self.sample,
            limit: self.limit,
            scopes: self.scopes,
        };
        collect(&self.recipe, &self.families, &wanted, jobs)
    }
}

fn number(n: &Option<Sp<u64>>, default: usize) -> usize {
    n.as_ref().map_or(default, |n| usize::try_from(n.value).unwrap_or(usize::MAX))
}

/// The dialect that options name.
pub fn arch(source: &Source, word: &Sp<String>) -> Result<Arch> {
    dialect::named(&word.value).ok_or_else(|| {
        Diag::at(source, word.span, format!("tests are not generated in `{}`", word.value))
            .help(format!("the dialects are {}", dialect::names().join(", ")))
    })
}

/// The cycles that options ask for.
fn recipe(source: &Source, span: Span, options: &Generate) -> Result<Recipe> {
    let arch = match &options.arch {
        Some(word) => arch(source, word)?,
        None if options.families.is_empty() => {
            return Err(Diag::at(source, span, "`generate` has neither `files` nor `arch`").help(
                "name files to read, or a dialect and `vocabulary`, `cycles` or `families`",
            ));
        }
        None => Arch::C,
    };
    let usual = Recipe::new(arch);
    let text = |word: &Sp<String>| super::items::text(source, word);
    let words = |list: &Words| -> Vec<Source> { list.iter().map(text).collect() };
    let or = |word: &Option<Sp<String>>, usual: Source| word.as_ref().map_or(usual, text);
    let mix = |word: &Sp<String>| {
        let (least, most) = word.value.split_once('-').unwrap_or((&word.value, &word.value));
        match (least.trim().parse(), most.trim().parse()) {
            (Ok(least), Ok(most)) if least <= most => Ok((least, most)),
            _ => Err(Diag::at(source, word.span, "expected two numbers such as 1-3, or one")),
        }
    };
    Ok(Recipe {
        arch,
        cycles: words(&options.cycles),
        vocabulary: words(&options.vocabulary),
        relax: words(&options.relax),
        reject: words(&options.reject),
        annotations: words(&options.annotations),
        shapes: words(&options.shapes),
        size: number(&options.size, usual.size),
        exact_size: options.exact_size,
        threads: number(&options.threads, usual.threads),
        exact_threads: options.exact_threads,
        per_thread: number(&options.per_thread, usual.per_thread),
        mix: options.mix.as_ref().map(mix).transpose()?,
        mode: or(&options.mode, usual.mode),
        observe: or(&options.observe, usual.observe),
        ask: if options.every_outcome { Ask::Every } else { usual.ask },
        base: or(&options.location_type, usual.base),
        second: or(&options.second_type, usual.second),
        objects: or(&options.objects, usual.objects),
        layout: or(&options.layout, usual.layout),
        helpers: or(&options.helpers, usual.helpers),
        one_location: options.one_location,
    })
}

/// The name of a test as a file.
fn file(name: &str) -> String {
    format!("{name}.litmus")
}

impl Generated {
    /// A digest of everything that decides the list of tests.
    fn key(&self) -> Digest {
        let asked = format!(
            "{:?} {:?} {} {:?} {:?} {:?}",
            self.recipe, self.families, self.limit, self.sample, self.scopes, self.words
        );
        Keyer::new("generated/3")
            .field("litmake", env!("LITMAKE_STAGE_GENERATED").as_bytes())
            .field("asked", asked.as_bytes())
            .finish()
    }

    fn check_kept(&self, counts: &Counts, entries: &[Entry]) -> Result<()> {
        let (source, words) = &self.keep_words;
        super::files::check_kept(source, words, counts.considered, entries.len())
    }

    fn counted(&self, counts: Counts) {
        if let Ok(mut place) = self.counts.lock() {
            *place = counts;
        }
    }

    /// The tests, which are made at first use.
    fn made(&self) -> Result<MutexGuard<'_, Option<Collected>>> {
        let mut made = self.made.lock().map_err(|_| Diag::new("generating tests has failed"))?;
        if made.is_none() {
            *made = Some(self.collect()?);
        }
        Ok(made)
    }
}

impl graph::Source for Generated {
    /// Takes the list of an earlier run with the same options from the store, without making the
    /// tests.
    fn list(&self, known: &dyn Records) -> Result<Vec<Entry>> {
        let key = self.key();
        let before = known.get(&[key]).pop().flatten();
        let read = |bytes: &[u8]| {
            let (counts, rest) = Counts::decode(bytes)?;
            Some((counts, decode_entries(rest)?))
        };
        if let Some((counts, entries)) = before.and_then(|b| read(&b)) {
            self.check_kept(&counts, &entries)?;
            self.counted(counts);
            return Ok(entries);
        }
        let made = self.made()?;
        let (mut out, mut texts) = (Vec::new(), Vec::new());
        for (name, text) in made.iter().flat_map(|m| m.iter()) {
            let content = Digest::of(text.as_bytes());
            out.push(Entry { name: file(&name).into(), content });
            // A sample is small, compared with the tests that it is drawn from, so its texts are
            // stored, too.
            if self.sample.is_some() {
                texts.push((content, text));
            }
        }
        for some in texts.chunks(1024) {
            let blobs: Vec<Put> = some
                .iter()
                .map(|(key, text)| Put { kind: Kind::Blob, key: *key, value: text.as_bytes() })
                .collect();
            known.put(&blobs);
        }
        out.sort_by(|a, b| a.name.cmp(&b.name));
        let mut counts = Counts::default();
        if let Some(made) = &*made {
            counts.considered = made.tally.cycles;
            for (why, n) in made.tally.dropped() {
                counts.drop(why, n);
            }
        }
        let mut value = counts.encode();
        value.extend_from_slice(&encode_entries(&out));
        known.put(&[Put { kind: Kind::Alias, key, value: &value }]);
        self.check_kept(&counts, &out)?;
        counts.made = out.len() as u64;
        self.counted(counts);
        Ok(out)
    }

    fn record(&self) -> Option<Digest> {
        Some(self.key())
    }

    fn counts(&self) -> Counts {
        self.counts.lock().map(|c| c.clone()).unwrap_or_default()
    }

    fn fetch(&self, name: &str) -> Option<Vec<u8>> {
        let made = self.made().ok()?;
        made.as_ref()?.find(name.strip_suffix(".litmus")?).map(String::into_bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use graph::Source as _;

    /// Records in memory.
    #[derive(Default)]
    struct Memory(Mutex<HashMap<Digest, Vec<u8>>>);

    impl Records for Memory {
        fn has(&self, keys: &[Digest]) -> Vec<bool> {
            keys.iter().map(|key| self.0.lock().unwrap().contains_key(key)).collect()
        }

        fn get(&self, keys: &[Digest]) -> Vec<Option<Vec<u8>>> {
            keys.iter().map(|key| self.0.lock().unwrap().get(key).cloned()).collect()
        }

        fn put(&self, records: &[Put]) {
            let mut all = self.0.lock().unwrap();
            all.extend(records.iter().map(|r| (r.key, r.value.to_vec())));
        }
    }

    fn sampled(family: &str, count: usize, seed: u64) -> Generated {
        Generated {
            recipe: Recipe::new(Arch::C),
            families: vec![Source::new("families", family)],
            exclude: GlobSet::empty(),
            words: Default::default(),
            keep: Filter::default(),
            keep_words: (Source::new("keep", ""), Vec::new()),
            limit: usize::MAX,
            sample: Some((count, seed)),
            scopes: None,
            made: Mutex::default(),
            counts: Mutex::default(),
        }
    }

    fn was_made(of: &Generated) -> bool {
        of.made.lock().unwrap().is_some()
    }

    #[test]
    fn a_sample_is_drawn_once_and_drawn_again_after_an_edit() {
        let known = Memory::default();
        let first = sampled("c11-const", 20, 1);
        let list = first.list(&known).unwrap();
        assert!(was_made(&first) && list.len() == 20);
        // The list and every text are in the records, so nothing is made.
        let again = sampled("c11-const", 20, 1);
        assert_eq!(again.list(&known).unwrap(), list);
        for entry in &list {
            let text = known.get(&[entry.content]).pop().flatten().unwrap();
            assert_eq!(Digest::of(&text), entry.content);
            assert_eq!(first.fetch(&entry.name), Some(text));
        }
        assert!(!was_made(&again));
        // Another seed, size or family gives another sample.
        for other in
            [sampled("c11-const", 20, 2), sampled("c11-const", 21, 1), sampled("c11-idle", 20, 1)]
        {
            assert_ne!(other.list(&known).unwrap(), list);
            assert!(was_made(&other));
        }
    }
}
