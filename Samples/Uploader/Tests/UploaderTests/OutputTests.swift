import ArgumentParser
import Foundation
import LFS
import Testing
import UploaderKit

@Suite("Human-readable output")
struct OutputTests {
    @Test("Each column and table that the sync server lacks has a sentence")
    func lacking() {
        let sentences = LackingWords.sentences(["photo.width", "album"])
        #expect(sentences.count == 2)
        #expect(sentences.first?.contains("column 'width' of the table 'photo'") == true)
        #expect(sentences.last?.contains("lacks the table 'album'") == true)
        #expect(LackingWords.sentences([]).isEmpty)
    }

    @Test("The progress line stays within the terminal", arguments: [20, 40, 80, 120])
    func width(columns: Int) throws {
        var tally = Tally()
        tally.uploaded = 1_234_567
        tally.totalFiles = 2_345_678
        tally.isWalking = true
        tally.bytes = 123_456_789_012
        tally.totalBytes = 987_654_321_098
        tally.refused = 12
        tally.retrying = Set(try someIDs(2))
        let line = ProgressLine.text(tally, rate: 123_456_789, timeLeft: 86_399, columns: columns)
        #expect(line.count < columns)
        #expect(line.hasPrefix("1,234,567/2,345,678"))
        #expect(ProgressLine.reading(tally, rate: 123_456_789, columns: columns).count < columns)
    }

    @Test("No line of a help text is wrapped in a terminal of 80 columns")
    func helpTexts() {
        let commands = [Uploader.self] + Uploader.configuration.subcommands
        let lines = commands.flatMap { $0.configuration.discussion.split(separator: "\n") }
        #expect(lines.count > 50)
        #expect(lines.filter { $0.count > 79 } == [])
    }

    @Test("An unknown command is reported with the closest match")
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

    @Test("The usual progress line has the documented form and fits into 80 columns")
    func usualLine() throws {
        var tally = Tally()
        tally.uploaded = 312
        tally.totalFiles = 2_028
        tally.bytes = 1_288_490_189
        tally.totalBytes = 9_019_431_322
        tally.refused = 1
        tally.retrying = Set(try someIDs(2))
        let line = ProgressLine.text(tally, rate: 92_274_688, timeLeft: 84, columns: 80)
        #expect(line == "312/2,028 files  1.2/8.4 GiB  14 %  88.0 MiB/s  ETA 1m24s  2 retrying  1 failed")
    }

    @Test("The progress line names the slowest file and shortens its name if necessary")
    func slowest() throws {
        var tally = Tally()
        tally.uploaded = 312
        tally.totalFiles = 2_028
        tally.bytes = 1_288_490_189
        tally.totalBytes = 9_019_431_322
        let files = [
            ActiveTransfer(name: "new.jpg", since: 11, bytes: 1, totalBytes: 2),
            ActiveTransfer(name: "holiday-in-the-mountains.mov", since: 2, bytes: 45, totalBytes: 100),
        ]
        #expect(ActiveTransfer.slowest(files, at: 6.9) == nil)
        let slowest = ActiveTransfer.slowest(files, at: 12)
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

    @Test("The reading line shows the time left once the total size is known")
    func reading() {
        var tally = Tally()
        tally.isWalking = true
        tally.foundBytes = 2_147_483_648
        tally.readBytes = 1_073_741_824
        #expect(
            ProgressLine.reading(tally, rate: 1_048_576) == "reading 1.0/2.0 GiB  1.0 MiB/s  0 attached  0 uploaded")
        tally.expectedBytes = 4_294_967_296
        #expect(
            ProgressLine.reading(tally, rate: 1_048_576, timeLeft: 3_000)
                == "reading 1.0/4.0 GiB  1.0 MiB/s  ETA ~50m0s  0 attached  0 uploaded")
        tally.attached = 1_234_567
        tally.uploaded = 1_234_567
        tally.refused = 12
        for columns in 1...120 {
            #expect(ProgressLine.reading(tally, rate: 1, timeLeft: 1, columns: columns).count < max(columns, 2))
        }
    }

    @Test("The total of the reading line does not decrease when a smaller count arrives")
    func readingTotal() {
        var tally = Tally()
        tally.isWalking = true
        tally.foundBytes = 2_147_483_648
        tally.readBytes = 1_073_741_824
        tally.expectedBytes = 1_073_741_824
        #expect(ProgressLine.reading(tally, rate: 0).hasPrefix("reading 1.0/2.0 GiB"))
    }

    @Test("The line of a stopping run shows the pending files and the shortcut to stop")
    func stopping() {
        #expect(ProgressLine.stopping([]) == "stopping  Ctrl-C: at once")
        let files = [
            ActiveTransfer(name: "b.mov", since: 3, bytes: 0, totalBytes: 1_048_576),
            ActiveTransfer(name: "a.mov", since: 1, bytes: 524_288, totalBytes: 1_048_576),
        ]
        #expect(ProgressLine.stopping(files) == "stopping  2 files, 1.5 MiB to go  Ctrl-C: at once  a.mov 50 %")
        for columns in 1...120 { #expect(ProgressLine.stopping(files, columns: columns).count < max(columns, 2)) }
    }

    @Test("Rows that are synchronized have their own progress line")
    func rows() {
        let rows = Tally.Rows(sent: 20_000, received: 1)
        #expect(ProgressLine.syncing(rows) == "syncing  20,000 sent  1 received")
        #expect(ProgressLine.syncing(rows, columns: 20).count == 19)
    }

    @Test("The progress shows 100 % only when every upload is confirmed")
    func neverTooEarly() throws {
        var tally = Tally()
        tally.totalFiles = 2
        tally.totalBytes = 100
        tally.uploaded = 1
        tally.bytes = 50
        tally.partial = [try someIDs(1)[0]: 50]
        #expect(tally.percent == 99)
        tally.partial = [:]
        tally.uploaded = 2
        tally.bytes = 100
        #expect(tally.percent == 100)
        tally.isWalking = true
        #expect(tally.percent == 99)
    }

    @Test("The time left is shown once the smoothed rate is reliable")
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

    @Test("Sizes, counts and times are printed in a short form")
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

    @Test("Paths are resolved by name, and printed on one line")
    func paths() {
        #expect(FilePath("a/../b/./c").absolute(from: "/x/y") == FilePath("/x/y/b/c"))
        #expect(FilePath("/../..").absolute(from: "/x") == FilePath("/"))
        #expect(FilePath("a\nb").description == "a\\nb")
        #expect(FilePath("caf\u{E9}") != FilePath("cafe\u{301}"))
        #expect(FilePath(bytes: [0xFF]).text == nil)
    }
}

/// Returns ids that belong to no file.
func someIDs(_ count: Int) throws -> [FileID] {
    try (0..<count).map { _ in try #require(FileID(UUID().uuidString.lowercased())) }
}
