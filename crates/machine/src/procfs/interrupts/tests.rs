//! Tables of several architectures and ages, their malformed twins, and a very large one.

use super::*;
use proptest::prelude::*;

const X86: &str = "           CPU0       CPU1       \n 24:          1          0  IO-APIC   5-edge      ACPI:Ged\n 28:          0          \
    7 PCI-MSIX-0000:00:01.0   0-edge      virtio0-config\n 30:          3          4 IR-PCI-MSI 512000-edge      ahci[0000:00:1f.2], \
    i801 smbus\nNMI:          0          0   Non-maskable interrupts\nLOC:      60715      64596   Local timer interrupts\nERR:          \
    2\nMIS:          0\nPIN:          0          0   Posted-interrupt notification event\n";

fn by_name<'t, 'a>(table: &'t Interrupts<'a>, name: &str) -> &'t Row<'a> {
    table.rows.iter().find(|row| row.name == name).unwrap()
}

#[test]
fn x86_rows_have_chip_number_flow_and_devices() {
    let table = parse(X86).unwrap();
    assert_eq!(table.cpus, [0, 1]);
    assert_eq!(table.rows.len(), 8);
    let ged = by_name(&table, "24");
    assert_eq!((ged.irq(), ged.chip, ged.hwirq, ged.trigger), (Some(24), "IO-APIC", "5", "edge"));
    assert_eq!(table.per_cpu(ged), Some(&[1, 0][..]));
    assert_eq!(by_name(&table, "28").chip, "PCI-MSIX-0000:00:01.0");
    let shared = by_name(&table, "30");
    assert_eq!(shared.devices().collect::<Vec<_>>(), ["ahci[0000:00:1f.2]", "i801 smbus"]);
    assert_eq!(table.per_cpu(shared), Some(&[3, 4][..]));
}

#[test]
fn named_rows_have_a_description_and_no_devices() {
    let table = parse(X86).unwrap();
    let timer = by_name(&table, "LOC");
    assert_eq!((timer.irq(), timer.label, timer.chip), (None, "Local timer interrupts", ""));
    assert_eq!(table.per_cpu(timer), Some(&[60715, 64596][..]));
    assert_eq!(timer.devices().count(), 0);
}

#[test]
fn rows_of_the_whole_system_are_no_cpu_rows() {
    let table = parse(X86).unwrap();
    assert_eq!(by_name(&table, "ERR").counted, Counted::System(2));
    assert_eq!(table.per_cpu(by_name(&table, "ERR")), None);
    // With one CPU online the number of counts does not distinguish them, the name does.
    let single =
        parse("           CPU4\nLOC:          9   Local timer interrupts\nERR:          1\n").unwrap();
    assert_eq!(single.per_cpu(&single.rows[0]), Some(&[9][..]));
    assert_eq!(single.rows[1].counted, Counted::System(1));
}

#[test]
fn columns_of_offline_cpus_are_left_out() {
    let table =
        parse("           CPU1       CPU5       CPU130\n  9:  1  2  3  IO-APIC  9-fasteoi  acpi\n").unwrap();
    assert_eq!(table.cpus, [1, 5, 130]);
    assert_eq!(table.per_cpu(&table.rows[0]), Some(&[1, 2, 3][..]));
}

#[test]
fn arm_rows_have_a_level_column_and_numbered_ipis() {
    let table = parse(
        "           CPU0       CPU1\n 11:      68101      74312     GICv3  27 Level     arch_timer\n 52:          0          0   ITS-MSI \
         16384 Edge      nvme0q0\nIPI0:      4012       3991       Rescheduling interrupts\nErr:          0\nFIQ:              usb_fiq\n",
    )
    .unwrap();
    let timer = by_name(&table, "11");
    assert_eq!((timer.chip, timer.hwirq, timer.trigger, timer.label), ("GICv3", "27", "Level", "arch_timer"));
    assert_eq!((by_name(&table, "52").trigger, by_name(&table, "52").label), ("Edge", "nvme0q0"));
    assert_eq!(by_name(&table, "IPI0").label, "Rescheduling interrupts");
    assert_eq!(by_name(&table, "Err").counted, Counted::System(0));
    let fiq = by_name(&table, "FIQ");
    assert_eq!((fiq.counted, fiq.label), (Counted::Uncounted, "usb_fiq"));
}

#[test]
fn power_rows_with_several_words() {
    let table = parse(
        "           CPU0       CPU8\n 16:        120        130  XICS        2 Edge      IPI\nLOC:      99       98   Local timer \
         interrupts for timer event device\nDBL:          1          0   Doorbell interrupts\n",
    )
    .unwrap();
    assert_eq!((by_name(&table, "16").hwirq, by_name(&table, "16").label), ("2", "IPI"));
    assert_eq!(by_name(&table, "LOC").label, "Local timer interrupts for timer event device");
}

#[test]
fn event_channels_have_a_flow_and_no_number() {
    let table = parse(
        "           CPU0       CPU1\n  9:          1          0   xen-pirq    -ioapic-level  acpi\n 71:          7          4   xen-dyn    -event     \
         eth0-q1-rx\n 72:          0          1   xen-percpu    -virq      timer1\n 73:          0          1   xen-dyn    -event\n 74:          0  \
         1   xen-dyn-event     eth1\n",
    )
    .unwrap();
    let of = |name| {
        let row = by_name(&table, name);
        (row.chip, row.hwirq, row.trigger, row.label)
    };
    assert_eq!(of("9"), ("xen-pirq", "", "ioapic-level", "acpi"));
    assert_eq!(of("71"), ("xen-dyn", "", "event", "eth0-q1-rx"));
    assert_eq!(of("72"), ("xen-percpu", "", "virq", "timer1"));
    assert_eq!(of("73"), ("xen-dyn", "", "event", ""));
    // Older kernels print both as one word.
    assert_eq!(of("74"), ("xen-dyn-event", "", "", "eth1"));
}

#[test]
fn old_kernels_print_no_hardware_number() {
    let table = parse(
        "           CPU0\n  0:         46   IO-APIC-edge      timer\n  7:   5   IO-APIC-edge      3-0050\n",
    )
    .unwrap();
    assert_eq!((table.rows[0].chip, table.rows[0].hwirq, table.rows[0].label), ("IO-APIC-edge", "", "timer"));
    assert_eq!(table.rows[1].label, "3-0050");
}

#[test]
fn a_controller_with_a_blank_in_its_name_and_a_row_without_devices() {
    let table = parse("  CPU0\n 31:  5  Orion PIC  12-level     eth, wlan\n 32:  5  GPIO  3 Edge\n").unwrap();
    let row = &table.rows[0];
    assert_eq!((row.chip, row.hwirq, row.trigger, row.label), ("Orion PIC", "12", "level", "eth, wlan"));
    assert_eq!((table.rows[1].trigger, table.rows[1].devices().count()), ("Edge", 0));
}

#[test]
fn a_row_torn_by_hotplug_is_not_booked_on_the_wrong_cpu() {
    let text = "  CPU0 CPU1 CPU2\n 9:  1  2  IO-APIC  9-fasteoi  acpi\nLOC:  1  2  3  4   Local timer interrupts\nRES: 7 8 9   Rescheduling\n";
    let table = parse(text).unwrap();
    assert_eq!(table.rows[0].counted, Counted::Torn);
    assert_eq!(table.rows[1].counted, Counted::Torn);
    assert_eq!(table.per_cpu(&table.rows[2]), Some(&[7, 8, 9][..]));
}

#[test]
fn a_table_of_which_nothing_can_be_read_names_the_line() {
    for (bad, line) in [
        ("", 1),
        ("no header\n", 1),
        (" 24:   1   0  IO-APIC\n", 1),
        ("  CPU0\n 24 1 IO-APIC\n", 2),
        ("  CPU0\n : 1 IO-APIC\n", 2),
        ("  CPU0\n 24;  1 PCI-MSIX-0000:00:01.0  0-edge  eth0\n", 2),
    ] {
        assert_eq!(parse(bad).unwrap_err().line, line, "{bad:?}");
    }
    assert!(parse("  CPU0\n").unwrap().rows.is_empty(), "a kernel without a line");
}

#[test]
fn an_odd_row_is_missing_by_itself() {
    let sound = parse(X86).unwrap();
    assert!(sound.odd.is_empty());
    for (from, to, what) in [(" 28:", " 28;", "28;"), ("\n 28:", "\n :", ":"), ("LOC:", "L C:", "L C")] {
        let text = X86.replace(from, to);
        let table = parse(&text).unwrap();
        assert_eq!((table.rows.len(), table.odd.first().len(), table.odd.more()), (7, 1, 0), "{to:?}");
        assert!(table.odd.first()[0].what.trim_start().starts_with(what), "{:?}", table.odd);
        for row in &table.rows {
            assert_eq!(table.per_cpu(row), sound.per_cpu(by_name(&sound, row.name)), "{to:?} {}", row.name);
        }
    }
}

#[test]
fn of_two_rows_with_one_irq_number_the_first_stays_and_the_other_is_named() {
    let text = X86.replace(" 28:", "024:");
    let table = parse(&text).unwrap();
    assert_eq!(table.rows.len(), 7);
    let rows: Vec<_> = table.rows.iter().filter(|row| row.irq() == Some(24)).collect();
    assert_eq!((rows.len(), rows[0].label, table.per_cpu(rows[0])), (1, "ACPI:Ged", Some(&[1, 0][..])));
    assert_eq!((table.odd.first()[0].line, table.odd.first()[0].what.as_str()), (3, "024"));
    assert_eq!(table.per_cpu(by_name(&table, "30")), Some(&[3, 4][..]), "what follows is read as ever");
    let powerpc = "  CPU0 CPU8\nLOC: 9 8   Local timer interrupts for timer event device\nLOC: 1 2   Local timer \
                   interrupts for others\n";
    let table = parse(powerpc).unwrap();
    assert_eq!((table.rows.len(), table.odd.is_empty()), (2, true), "names come twice there");
}

#[test]
fn an_odd_count_leaves_the_rest_of_its_row() {
    let text = X86.replace("1          0  IO-APIC", "99999999999999999999 0  IO-APIC");
    let table = parse(&text).unwrap();
    let ged = by_name(&table, "24");
    assert_eq!((ged.counted, ged.chip, ged.label), (Counted::Uncounted, "IO-APIC", "ACPI:Ged"));
    assert_eq!((table.odd.first()[0].line, table.odd.first()[0].what.as_str()), (2, "24"));
    let text = X86.replace("60715 ", "-6071 ");
    let table = parse(&text).unwrap();
    assert_eq!(table.per_cpu(by_name(&table, "LOC")), None, "negative");
    assert_eq!(table.per_cpu(by_name(&table, "30")), Some(&[3, 4][..]));
}

#[test]
fn a_column_without_a_cpu_is_nobodys() {
    let text = X86.replace("CPU0 ", "CPV0 ");
    let table = parse(&text).unwrap();
    assert_eq!((table.cpus.as_slice(), table.odd.first()[0].line), (&[1][..], 1));
    assert_eq!(table.per_cpu(by_name(&table, "LOC")), Some(&[64596][..]));
    assert_eq!(table.per_cpu(by_name(&table, "PIN")), Some(&[0][..]));
    assert_eq!(by_name(&table, "ERR").counted, Counted::System(2));
}

#[test]
fn a_machine_with_1024_cpus_and_300_rows() {
    let mut text = " ".repeat(10) + &(0..1024).map(|cpu| format!(" CPU{cpu:<6}")).collect::<String>() + "\n";
    for irq in 0..300u64 {
        text += &format!("{irq:>3}:");
        text += &(0..1024u64).map(|cpu| format!(" {:>10}", irq * 10_000 + cpu)).collect::<String>();
        text += &format!(" IR-PCI-MSIX-0000:3b:00.0 {irq:>6}-edge      mlx5_comp{irq}@pci:0000:3b:00.0\n");
    }
    let table = parse(&text).unwrap();
    assert_eq!((table.cpus.len(), table.rows.len()), (1024, 300));
    for (irq, row) in table.rows.iter().enumerate() {
        let counts = table.per_cpu(row).unwrap();
        assert_eq!((counts[0], counts[1023]), (irq as u64 * 10_000, irq as u64 * 10_000 + 1023));
        assert_eq!(row.label, format!("mlx5_comp{irq}@pci:0000:3b:00.0"));
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "(CPU[0-9]|LOC:|ERR:|[0-9]{1,3}| |:|\n|.){0,80}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_rows_behind_a_good_header_panic(rows in "([0-9]{1,22}|[A-Z]{3}|[ :,\n-]|.){0,80}") {
        let _ = parse(&format!("CPU0 CPU3\n{rows}"));
    }

    #[test]
    fn what_is_printed_is_read(
        cpus in proptest::collection::btree_set(0u32..5000, 2..20),
        rows in proptest::collection::btree_map(0u32..4000,
            ("[A-Z][A-Za-z-]{2,8}", 0u32..100_000, "(edge|fasteoi)", "[a-z][a-z0-9@:.-]{0,12}(, [a-z][a-z ]{0,6}[a-z])?",
             proptest::collection::vec(any::<u32>(), 20)), 0..10),
    ) {
        let cpus: Vec<u32> = cpus.into_iter().collect();
        let mut text = cpus.iter().map(|cpu| format!(" CPU{cpu:<7}")).collect::<String>() + "\n";
        for (irq, (chip, hwirq, flow, devices, counts)) in &rows {
            let counts = counts[..cpus.len()].iter().map(|n| format!(" {n:>10}")).collect::<String>();
            text += &format!("{irq:>4}:{counts} {chip:>8} {hwirq:>4}-{flow:<8}  {devices}\n");
        }
        let table = parse(&text).unwrap();
        prop_assert_eq!(&table.cpus, &cpus);
        prop_assert_eq!(table.rows.len(), rows.len());
        for (row, (irq, (chip, hwirq, flow, devices, counts))) in table.rows.iter().zip(&rows) {
            let hwirq = hwirq.to_string();
            prop_assert_eq!(row.irq(), Some(*irq));
            prop_assert_eq!((row.chip, row.hwirq, row.trigger, row.label),
                (chip.as_str(), hwirq.as_str(), flow.as_str(), devices.as_str()));
            let wanted: Vec<u64> = counts[..cpus.len()].iter().map(|n| u64::from(*n)).collect();
            prop_assert_eq!(table.per_cpu(row), Some(&wanted[..]));
        }
    }
}
