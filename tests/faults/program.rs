//! What the system is told about the program file.

use object::{Object, ObjectSegment, ObjectSymbol};

fn program() -> Vec<u8> {
    std::fs::read(env!("CARGO_BIN_EXE_litmake")).unwrap()
}

#[test]
fn it_lies_at_random_addresses_and_its_relocations_cannot_be_written() {
    use object::elf;
    use object::read::elf::{FileHeader, ProgramHeader};
    let bytes = program();
    let header = elf::FileHeader64::<object::Endianness>::parse(&*bytes).unwrap();
    let endian = header.endian().unwrap();
    assert_eq!(header.e_type(endian), elf::ET_DYN);
    let segments = header.program_headers(endian, &*bytes).unwrap();
    assert!(segments.iter().any(|s| s.p_type(endian) == elf::PT_GNU_RELRO));
    let dynamic = segments.iter().find_map(|s| s.dynamic(endian, &*bytes).unwrap()).unwrap();
    const BIND_NOW: u64 = 8;
    let mut flags = dynamic.iter().filter(|d| d.d_tag.get(endian) == elf::DT_FLAGS);
    let now = flags.any(|d| d.d_val.get(endian) & BIND_NOW != 0);
    assert!(now, "all is bound at the start");
}

/// Graphics drivers are loaded into the program: they must not take its functions for theirs.
#[test]
fn what_is_loaded_later_finds_no_functions_of_the_program() {
    let bytes = program();
    let program = object::File::parse(&*bytes).unwrap();
    let given = program.dynamic_symbols().filter(|s| s.is_definition());
    let given: Vec<_> = given.filter(|s| s.kind() == object::SymbolKind::Text).collect();
    assert!(given.is_empty(), "{given:?}");
    assert!(program.segments().any(|s| s.size() > 0));
}
