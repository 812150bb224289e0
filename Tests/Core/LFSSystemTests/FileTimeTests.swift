import Foundation
import TestSupport
import Testing

@testable import LFSSystem

/// Tests with file times as untrusted input. File systems hold times that do not fit into 64 bits of nanoseconds.
@Suite("File times", .timeLimit(.minutes(10)))
struct FileTimeTests {
    private func status(modified seconds: Int, _ nanoseconds: Int = 0) -> FileStatus {
        var raw = stat()
        #if canImport(Darwin)
        raw.st_mtimespec = timespec(tv_sec: seconds, tv_nsec: nanoseconds)
        raw.st_ctimespec = raw.st_mtimespec
        #else
        raw.st_mtim = timespec(tv_sec: seconds, tv_nsec: nanoseconds)
        raw.st_ctim = raw.st_mtim
        #endif
        return FileStatus(raw)
    }

    @Test("An ordinary file time is a number of nanoseconds since 1970")
    func ordinary() {
        let status = status(modified: 1_700_000_000, 123_456_789)
        #expect("\(status.modified)" == "1700000000123456789")
        #expect(status.changed == status.modified)
        #expect("\(self.status(modified: -2, 1).modified)" == "-1999999999")
    }

    @Test(
        "Two file times that differ compare as different, however far away",
        arguments: [9_223_372_037, -9_223_372_038, 910_670_515_199, Int.max, .min])
    func distant(_ seconds: Int) {
        let near = status(modified: seconds == .max ? seconds - 1 : seconds)
        let far = status(modified: seconds == .max ? seconds : seconds + 1)
        #expect(near.modified < far.modified && near.changed < far.changed)
        #expect(!far.hasContent(of: near) && near.hasContent(of: near))
        #expect(status(modified: seconds, 1).modified > status(modified: seconds, 0).modified)
    }

    @Test("The status of a file from the year 2300 keeps its exact time")
    func file() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.child("photo")
            try Data([1]).write(to: file)
            try setModified(file, seconds: 10_413_792_000)
            let status = try FileStatus(following: file.path)
            #expect("\(status.modified)" == "10413792000000000000")
        }
    }

    @Test("A clock beyond the year 2262 gives the nanoseconds that files have then")
    func clock() {
        let later = Date(timeIntervalSince1970: 10_413_792_000)
        #expect("\(later.nanosecondsSince1970)" == "10413792000000000000")
        #expect(later.nanosecondsSince1970 == status(modified: 10_413_792_000).changed)
        #expect("\(Duration.seconds(20_000_000_000).nanoseconds)" == "20000000000000000000")
    }

    @Test(
        "A date that no file can have becomes nanoseconds without a crash",
        arguments: [Double.nan, .infinity, -Double.infinity, .greatestFiniteMagnitude, -Double.greatestFiniteMagnitude])
    func dates(_ seconds: Double) {
        let nanoseconds = Date(timeIntervalSince1970: seconds).nanosecondsSince1970
        #expect(seconds.isNaN ? nanoseconds == 0 : (nanoseconds > 0) == (seconds > 0))
        // Grace periods of any length are subtracted.
        for period in [Duration.seconds(Int64.max), .seconds(Int64.min)] {
            #expect(nanoseconds - period.nanoseconds != nanoseconds)
        }
    }
}
