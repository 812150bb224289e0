import LFSStorage
import LFSTesting
import TestSupport
import Testing

/// Tests that every check can fail and that every faulty storage is detected.
@Suite("Faulty storages", .timeLimit(.minutes(10)))
struct FailingConformanceTests {
    struct Fault: Sendable, CustomTestStringConvertible {
        let name: String
        let make: @Sendable () -> any RemoteStorage
        /// The checks that detect the fault. Other checks may fail too.
        let checks: [String]

        var testDescription: String { name }

        init(_ name: String, _ make: @escaping @autoclosure @Sendable () -> any RemoteStorage, checks: String...) {
            self.name = name
            self.make = make
            self.checks = checks
        }
    }

    private static let refused = StorageError(.forbidden, message: "It fails on purpose.")

    static let faults: [Fault] = [
        Fault(
            "that loses the last byte", TruncatingStorage(InMemoryStorage()),
            checks: "a file of one byte is downloaded unchanged",
            "concurrent uploads to one key leave one of them whole",
            "a reader sees a whole object while it is being replaced"),
        Fault(
            "that flips a bit on the way up", ByteFlippingStorage(InMemoryStorage(), on: [.upload]),
            checks: "a file of a little more than one chunk is downloaded unchanged",
            "a file of three megabytes is downloaded unchanged",
            "concurrent uploads to many keys are all kept"),
        Fault(
            "that flips a bit on the way down", ByteFlippingStorage(InMemoryStorage(), on: [.download]),
            checks: "a file of one byte is downloaded unchanged",
            "a download that is cancelled in progress ends, and its bytes so far are right"),
        Fault(
            "that claims to have stored what it has not", LyingStorage(InMemoryStorage()),
            checks: "an empty file is downloaded unchanged"),
        Fault(
            "that fails once", FailingStorage(InMemoryStorage(), on: [.upload], with: refused),
            checks: "an empty file is downloaded unchanged"),
        Fault(
            "that cannot be reached", UnreachableStorage(InMemoryStorage()),
            checks: "a missing object is reported as missing"),
        Fault(
            "that trusts its source", BrokenStorage.trustsTheSource,
            checks: "a source whose bytes do not match its checksum is refused and leaves nothing",
            "a refused upload leaves the former object untouched",
            "a source that lost bytes after it was opened is refused",
            "a source that got more bytes after it was opened is refused"),
        Fault(
            "that blames itself for its source", BrokenStorage.blamesItself,
            checks: "an unreadable source is not a storage error, and leaves nothing"),
        Fault(
            "that expects each read to fill its buffer", BrokenStorage.fillsBuffers,
            checks: "bytes that a function reads are stored like a file"),
        Fault(
            "that refuses what is there", BrokenStorage.refusesWhatIsThere,
            checks: "an upload replaces the object under its key", "the same upload twice succeeds"),
        Fault(
            "that keeps the first", BrokenStorage.keepsTheFirst,
            checks: "an upload replaces the object under its key"),
        Fault(
            "that removes before it replaces", BrokenStorage.removesBeforeItReplaces,
            checks: "a refused upload leaves the former object untouched",
            "an upload that is cancelled in progress leaves the former object or the new one"),
        Fault(
            "that keeps half of a cancelled upload", BrokenStorage.stopsHalfWay,
            checks: "an upload that is cancelled in progress leaves the whole object or nothing"),
        Fault(
            "that lists what is unfinished", BrokenStorage.listsUnfinished(),
            checks: "an upload that is cancelled in progress leaves the whole object or nothing"),
        Fault(
            "that ignores cancellation", BrokenStorage.ignoresCancellation,
            checks: "an upload by a cancelled task ends with an error and leaves nothing"),
        Fault(
            "that tells no checksum, though it says that it proves them", BrokenStorage.tellsNoChecksum,
            checks: "an upload returns the SHA-256 if the storage states that it proves checksums"),
        Fault(
            "that never tells the entity tag", BrokenStorage.tellsNoTag,
            checks: "a download reports the object's entity tag before its first byte"),
        Fault(
            "that tells the entity tag too late", BrokenStorage.tellsTheTagTooLate,
            checks: "a download reports the object's entity tag before its first byte"),
        Fault(
            "that counts backwards", BrokenStorage.countsBackwards,
            checks: "progress never decreases and ends at the size"),
        Fault(
            "that takes one upload at a time", BrokenStorage.takesOneAtATime(),
            checks: "concurrent uploads to one key leave one of them whole",
            "concurrent uploads to many keys are all kept"),
        Fault(
            "that throws errors of its own", BrokenStorage.throwsItsOwnErrors,
            checks: "a missing object is reported as missing"),
        Fault(
            "that wraps the sink's errors", BrokenStorage.wrapsSinkErrors,
            checks: "an error of the sink is thrown unchanged and ends the download"),
        Fault(
            "that calls the sink again after its error", BrokenStorage.sendsAgainAfterSinkErrors,
            checks: "an error of the sink is thrown unchanged and ends the download"),
        Fault(
            "that ignores ranges", BrokenStorage.ignoresRanges, checks: "a range in the middle returns only its bytes",
            "a range from the start returns only its bytes",
            "an empty range returns no bytes and describes the object"),
        Fault(
            "that refuses odd ranges", BrokenStorage.refusesOddRanges,
            checks: "a range that ends beyond the object returns the available bytes",
            "an empty range returns no bytes and describes the object"),
        Fault(
            "that ignores entity tags", BrokenStorage.ignoresEntityTags,
            checks: "a download with an outdated entity tag fails as changed"),
        Fault(
            "that sends bytes twice", BrokenStorage.sendsAgainWhenCancelled,
            checks: "a download that is cancelled in progress ends, and its bytes so far are right"),
        Fault(
            "that puts secrets into URLs", BrokenStorage.signsItsURLs,
            checks: "an object's URL contains no query, no user and no password"),
        Fault(
            "that fails to remove nothing", BrokenStorage.failsToRemoveNothing,
            checks: "removing a missing object succeeds"),
        Fault("that removes nothing", BrokenStorage.removesNothing, checks: "a removed object is gone"),
        Fault(
            "that never takes a removed key again", BrokenStorage.neverTakesARemovedKeyAgain(),
            checks: "a removed object can be stored again"),
        Fault(
            "that ignores prefixes", BrokenStorage.ignoresPrefixes,
            checks: "a listing contains the objects of its prefix and no others"),
        Fault(
            "that lists backwards", BrokenStorage.listsBackwards, checks: "a listing is in the order of the keys' bytes"
        ),
        Fault(
            "that ignores limits", BrokenStorage.ignoresLimits,
            checks: "the pages of a listing keep to their limit and contain every object once"),
        Fault(
            "that ends a listing after one page", BrokenStorage.endsAfterOnePage,
            checks: "the pages of a listing keep to their limit and contain every object once"),
        Fault(
            "that fails on empty listings", BrokenStorage.failsOnEmptyListings,
            checks: "a listing of a prefix without objects is empty"),
    ]

    private static func check(named name: String) throws -> StorageCheck {
        try #require(StorageConformance.checks.first { $0.name == name }, "there is no check '\(name)'")
    }

    @Test("Each fault is detected by the checks that are meant for it", arguments: faults)
    func isFoundOut(_ fault: Fault) async throws {
        for name in fault.checks {
            let check = try Self.check(named: name)
            let failure = await #expect(throws: ConformanceFailure.self, "\(name)") {
                try await check.run(against: fault.make())
            }
            #expect(failure?.check == name)
        }
    }

    @Test("Every conformance check is seen failing")
    func everyCheckFails() {
        let seen = Set(Self.faults.flatMap(\.checks))
        #expect(Set(StorageConformance.checks.map(\.name)) == seen)
    }

    @Test("A reader detects a storage that shows a half-written object")
    func removalIsSeenByReaders() async throws {
        let check = try Self.check(named: "a reader sees a whole object while it is being replaced")
        let storage = BrokenStorage(onDownload: { base, request, sink in
            let object = try await base.download(DownloadRequest(request.key, range: 0..<1_000), into: sink)
            return object
        })
        await #expect(throws: ConformanceFailure.self) { try await check.run(against: storage) }
    }

    /// If the newest upload wins and the storage verifies afterwards, the other uploads have nothing to verify.
    @Test("A storage may refuse an upload whose bytes another upload has replaced")
    func replacedUploads() async throws {
        let check = try Self.check(named: "concurrent uploads to one key leave one of them whole")
        try await check.run(against: BrokenStorage.refuses { $0 < 6 })
        let failure = await #expect(throws: ConformanceFailure.self) {
            try await check.run(against: BrokenStorage.refuses { $0 == 6 })
        }
        #expect(failure?.rule == "the object has the bytes of an upload that succeeded")
    }

    /// The server had received all bytes and was still processing them.
    @Test("A storage may finish a cancelled upload late")
    func lateUploads() async throws {
        let check = try Self.check(named: "an upload that is cancelled in progress leaves the whole object or nothing")
        try await check.run(against: BrokenStorage.finishesLate())
    }
}
