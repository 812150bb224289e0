import ArgumentParser
import Foundation
import LFS
import Testing
import UploaderKit

@Suite("What people read")
struct OutputTests {
    @Test("The progress line stays within the terminal", arguments: [20, 40, 80, 120])
    func width(columns: Int) throws {
        var tally = Tally()
        (tally.uploaded, tally.totalFiles, tally.isWalking) = (1_234_567, 2_345_678, true)
        (tally.bytes, tally.totalBytes, tally.refused) = (123_456_789_012, 987_654_321_098, 12)
        tally.retrying = Set(try someIDs(2))
        let line = ProgressLine.text(tally, rate: 123_456_789, timeLeft: 86_399, columns: columns)
        #expect(line.count < columns)
        #expect(line.hasPrefix("1,234,567/2,345,678"))
        #expect(ProgressLine.reading(tally, rate: 123_456_789, columns: columns).count < columns)
    }

    @Test("No line of a help text is wrapped again in a terminal of 80 columns")
    func helpTexts() {
        let commands = [Uploader.self] + Uploader.configuration.subcommands
        let lines = commands.flatMap { $0.configuration.discussion.split(separator: "\n") }
        #expect(lines.count > 50)
        #expect(lines.filter { $0.count > 79 } == [])
    }

    @Test("A command that is not there is told, with the one that was meant")
    func commandNames() throws {
        #expect(CommandNames.complaint(["push", "x"]) == nil)
        #expect(CommandNames.complaint(["--help"]) == nil && CommandNames.complaint([]) == nil)
        #expect(CommandNames.complaint(["help"]) == nil && CommandNames.complaint(["help", "list"]) == nil)
        let near = "There is no command 'pusj'. Did you mean 'push'? 'uploader --help' lists them."
        #expect(CommandNames.complaint(["pusj"]) == near && CommandNames.complaint(["help", "pusj"]) == near)
        #expect(
            CommandNames.complaint(["remove", "--to", "dir:x", "-dash.jpg"])?.contains("write ./-dash.jpg") == true)
        #expect(CommandNames.complaint(["remove", "-n", "-nv", "--", "-dash.jpg"]) == nil)
        #expect(CommandNames.complaint(["frobnicate"])?.contains("Did you mean") == false)
        try withFolder { folder in
            for words in [["help", "bogus"], ["bogus"]] {
                let run = try UploaderProcess(words, in: folder).wait()
                #expect(run.status == 64 && run.messages.contains("no command 'bogus'") && run.output.isEmpty)
            }
        }
    }

    @Test("The usual line reads as promised and fits into 80 columns")
    func usualLine() throws {
        var tally = Tally()
        (tally.uploaded, tally.totalFiles) = (312, 2_028)
        (tally.bytes, tally.totalBytes, tally.refused) = (1_288_490_189, 9_019_431_322, 1)
        tally.retrying = Set(try someIDs(2))
        let line = ProgressLine.text(tally, rate: 92_274_688, timeLeft: 84, columns: 80)
        #expect(line == "312/2,028 files  1.2/8.4 GiB  14 %  88.0 MiB/s  ETA 1m24s  2 retrying  1 failed")
    }

    @Test("What takes long is named, its middle left out where there is no room, and the rate goes before it")
    func slowest() throws {
        var tally = Tally()
        (tally.uploaded, tally.totalFiles) = (312, 2_028)
        (tally.bytes, tally.totalBytes) = (1_288_490_189, 9_019_431_322)
        let files = [
            UnderWay(name: "new.jpg", since: 11, bytes: 1, totalBytes: 2),
            UnderWay(name: "holiday-in-the-mountains.mov", since: 2, bytes: 45, totalBytes: 100),
        ]
        #expect(UnderWay.slowest(files, at: 6.9) == nil)
        let slowest = UnderWay.slowest(files, at: 12)
        func line(_ columns: Int) -> String {
            ProgressLine.text(
                tally, rate: 92_274_688, timeLeft: 84, isRough: true, slowest: slowest, columns: columns)
        }
        let start = "312/2,028 files  1.2/8.4 GiB  14 %"
        #expect(line(80) == "\(start)  88.0 MiB/s  ETA ~1m24s  holiday…ns.mov 45 %")
        #expect(line(100) == "\(start)  88.0 MiB/s  ETA ~1m24s  holiday-in-the-mountains.mov 45 %")
        #expect(line(70) == "\(start)  ETA ~1m24s  holiday-…ins.mov 45 %")
        for columns in 1...120 { #expect(line(columns).count < max(columns, 2)) }
    }

    @Test("While files are read the line tells how long that takes, once it is counted how much it is")
    func reading() {
        var tally = Tally()
        (tally.isWalking, tally.foundBytes, tally.readBytes) = (true, 2_147_483_648, 1_073_741_824)
        #expect(
            ProgressLine.reading(tally, rate: 1_048_576) == "reading 1.0/2.0 GiB  1.0 MiB/s  0 attached  0 uploaded")
        tally.expectedBytes = 4_294_967_296
        #expect(
            ProgressLine.reading(tally, rate: 1_048_576, timeLeft: 3_000)
                == "reading 1.0/4.0 GiB  1.0 MiB/s  ETA ~50m0s  0 attached  0 uploaded")
        (tally.attached, tally.uploaded, tally.refused) = (1_234_567, 1_234_567, 12)
        for columns in 1...120 {
            #expect(ProgressLine.reading(tally, rate: 1, timeLeft: 1, columns: columns).count < max(columns, 2))
        }
    }

    @Test("A run that was asked to end tells what it waits for, and how to end it at once")
    func stopping() {
        #expect(ProgressLine.stopping([]) == "stopping  Ctrl-C: at once")
        let files = [
            UnderWay(name: "b.mov", since: 3, bytes: 0, totalBytes: 1_048_576),
            UnderWay(name: "a.mov", since: 1, bytes: 524_288, totalBytes: 1_048_576),
        ]
        #expect(ProgressLine.stopping(files) == "stopping  2 files, 1.5 MiB to go  Ctrl-C: at once  a.mov 50 %")
        for columns in 1...120 { #expect(ProgressLine.stopping(files, columns: columns).count < max(columns, 2)) }
    }

    @Test("Rows that are on their way have a line of their own")
    func rows() {
        let rows = Tally.Rows(sent: 20_000, received: 1)
        #expect(ProgressLine.syncing(rows) == "syncing  20,000 sent  1 received")
        #expect(ProgressLine.syncing(rows, columns: 20).count == 19)
    }

    @Test("100 % is shown only when every upload is proven")
    func neverTooEarly() throws {
        var tally = Tally()
        (tally.totalFiles, tally.totalBytes, tally.uploaded, tally.bytes) = (2, 100, 1, 50)
        tally.partial = [try someIDs(1)[0]: 50]
        #expect(tally.percent == 99)
        (tally.partial, tally.uploaded, tally.bytes) = ([:], 2, 100)
        #expect(tally.percent == 100)
        tally.isWalking = true
        #expect(tally.percent == 99)
    }

    @Test("The time left is told once it can be trusted, from a smoothed rate")
    func timeLeft() {
        var meter = RateMeter()
        meter.add(0, at: 0)
        meter.add(100, at: 1)
        #expect(meter.timeLeft(100, of: 1_000, at: 1) == nil)
        #expect(meter.roughTimeLeft(100, of: 1_000, at: 1) == 9)
        #expect(meter.roughTimeLeft(100, of: 1_000, at: 0.9) == nil)
        #expect(meter.roughTimeLeft(0, of: 1_000, at: 1) == nil)
        for second in 2...10 { meter.add(Int64(second) * 100, at: Double(second)) }
        let left = meter.timeLeft(1_000, of: 2_000, at: 10)
        #expect(left.map { abs($0 - 10) < 0.5 } == true)
        #expect(meter.timeLeft(1_000, of: 1_000_000, at: 10) == nil)
    }

    @Test("Numbers are short")
    func formats() {
        #expect(Format.bytes(0) == "0 B")
        #expect(Format.bytes(999) == "999 B")
        #expect(Format.bytes(1_000) == "1.0 KiB")
        #expect(Format.bytes(1_536) == "1.5 KiB")
        #expect(Format.bytes(1_048_575) == "1.0 MiB")
        #expect(Format.count(1_234_567) == "1,234,567")
        #expect(Format.time(59.2) == "1m0s")
        #expect(Format.time(90_061) == "1d1h")
    }

    @Test("Paths are resolved by name, and shown so that they cannot break a line")
    func paths() {
        #expect(FilePath("a/../b/./c").absolute(from: "/x/y") == FilePath("/x/y/b/c"))
        #expect(FilePath("/../..").absolute(from: "/x") == FilePath("/"))
        #expect(FilePath("a\nb").description == "a\\nb")
        #expect(FilePath("caf\u{E9}") != FilePath("cafe\u{301}"))
        #expect(FilePath(bytes: [0xFF]).text == nil)
    }
}

/// Ids of files that nobody has.
func someIDs(_ count: Int) throws -> [FileID] {
    try (0..<count).map { _ in try #require(FileID(UUID().uuidString.lowercased())) }
}
