import LFSStorage
import LFSTesting
import TestSupport
import Testing

/// Every check has been seen to fail, and every faulty storage to be found out.
@Suite("A faulty storage", .timeLimit(.minutes(10)))
struct FailingConformanceTests {
    struct Fault: Sendable, CustomTestStringConvertible {
        let name: String
        let make: @Sendable () -> any RemoteStorage
        /// The checks that find it out; it may fail more.
        let checks: [String]

        var testDescription: String { name }

        init(_ name: String, _ make: @escaping @autoclosure @Sendable () -> any RemoteStorage, _ checks: String...) {
            self.name = name
            self.make = make
            self.checks = checks
        }
    }

    private static let refused = StorageError(.forbidden, "It fails on purpose.")

    static let faults: [Fault] = [
        Fault(
            "that loses the last byte", TruncatingStorage(InMemoryStorage()),
            "a file of one byte comes back as it went in",
            "uploads to one key beside each other leave one of them whole",
            "a reader sees a whole object while it is being replaced"),
        Fault(
            "that flips a bit on the way up", ByteFlippingStorage(InMemoryStorage(), on: [.upload]),
            "a file of a little more than one chunk comes back as it went in",
            "a file of three megabytes comes back as it went in",
            "uploads to many keys beside each other are all kept"),
        Fault(
            "that flips a bit on the way down", ByteFlippingStorage(InMemoryStorage(), on: [.download]),
            "a file of one byte comes back as it went in",
            "a download that is cancelled on its way ends, and gave the right bytes so far"),
        Fault(
            "that claims to have stored what it has not", LyingStorage(InMemoryStorage()),
            "an empty file comes back as it went in"),
        Fault(
            "that fails once", FailingStorage.once(InMemoryStorage(), on: [.upload], with: refused),
            "an empty file comes back as it went in"),
        Fault(
            "that cannot be reached", UnreachableStorage(InMemoryStorage()),
            "what is not there is reported as missing"),
        Fault(
            "that trusts its source", BrokenStorage.trustsTheSource,
            "a source whose bytes do not have its checksum is refused and leaves nothing",
            "a refused upload leaves the former object untouched",
            "a source that lost bytes after it was opened is refused",
            "a source that got more bytes after it was opened is refused"),
        Fault(
            "that blames itself for its source", BrokenStorage.blamesItself,
            "a source that cannot be read is not blamed on the storage, and leaves nothing"),
        Fault(
            "that expects each read to fill its buffer", BrokenStorage.fillsBuffers,
            "what a function reads is stored as a file is"),
        Fault(
            "that refuses what is there", BrokenStorage.refusesWhatIsThere,
            "an upload replaces what was under its key", "the same upload twice succeeds"),
        Fault("that keeps the first", BrokenStorage.keepsTheFirst, "an upload replaces what was under its key"),
        Fault(
            "that removes before it replaces", BrokenStorage.removesBeforeItReplaces,
            "a refused upload leaves the former object untouched",
            "an upload that is cancelled on its way leaves the former object or the new one"),
        Fault(
            "that keeps half of a cancelled upload", BrokenStorage.stopsHalfWay,
            "an upload that is cancelled on its way leaves the whole object or nothing"),
        Fault(
            "that lists what is unfinished", BrokenStorage.listsUnfinished(),
            "an upload that is cancelled on its way leaves the whole object or nothing"),
        Fault(
            "that ignores cancellation", BrokenStorage.ignoresCancellation,
            "an upload by a cancelled task ends with an error and leaves nothing"),
        Fault(
            "that tells no checksum, though it says that it proves them", BrokenStorage.tellsNoChecksum,
            "an upload names the SHA-256 where the storage says that it proves checksums"),
        Fault(
            "that never tells the entity tag", BrokenStorage.tellsNoTag,
            "a download tells the object's entity tag before its first byte"),
        Fault(
            "that tells the entity tag too late", BrokenStorage.tellsTheTagTooLate,
            "a download tells the object's entity tag before its first byte"),
        Fault("that counts backwards", BrokenStorage.countsBackwards, "progress never goes back and ends at the size"),
        Fault(
            "that takes one upload at a time", BrokenStorage.takesOneAtATime(),
            "uploads to one key beside each other leave one of them whole",
            "uploads to many keys beside each other are all kept"),
        Fault(
            "that throws errors of its own", BrokenStorage.throwsItsOwnErrors,
            "what is not there is reported as missing"),
        Fault(
            "that wraps the sink's errors", BrokenStorage.wrapsSinkErrors,
            "an error of the sink comes out unchanged and ends the download"),
        Fault(
            "that calls the sink again after its error", BrokenStorage.sendsAgainAfterSinkErrors,
            "an error of the sink comes out unchanged and ends the download"),
        Fault(
            "that ignores ranges", BrokenStorage.ignoresRanges, "a range in the middle gives just its bytes",
            "a range from the start gives just its bytes", "an empty range gives no bytes and describes the object"),
        Fault(
            "that refuses odd ranges", BrokenStorage.refusesOddRanges,
            "a range that ends beyond the object gives what there is",
            "an empty range gives no bytes and describes the object"),
        Fault(
            "that ignores entity tags", BrokenStorage.ignoresEntityTags,
            "a download with an outdated entity tag fails as changed"),
        Fault(
            "that sends bytes twice", BrokenStorage.sendsAgainWhenCancelled,
            "a download that is cancelled on its way ends, and gave the right bytes so far"),
        Fault(
            "that puts secrets into URLs", BrokenStorage.signsItsURLs,
            "an object's URL holds no query, no user and no password"),
        Fault(
            "that fails to remove nothing", BrokenStorage.failsToRemoveNothing, "removing what is not there succeeds"),
        Fault("that removes nothing", BrokenStorage.removesNothing, "a removed object is gone"),
        Fault(
            "that never takes a removed key again", BrokenStorage.neverTakesARemovedKeyAgain(),
            "a removed object can be stored again"),
        Fault(
            "that ignores prefixes", BrokenStorage.ignoresPrefixes,
            "a listing has the objects of its prefix and no others"),
        Fault("that lists backwards", BrokenStorage.listsBackwards, "a listing is in the order of the keys' bytes"),
        Fault(
            "that ignores limits", BrokenStorage.ignoresLimits,
            "the pages of a listing keep to their limit and have every object once"),
        Fault(
            "that ends a listing after one page", BrokenStorage.endsAfterOnePage,
            "the pages of a listing keep to their limit and have every object once"),
        Fault(
            "that fails on empty listings", BrokenStorage.failsOnEmptyListings,
            "a listing of a prefix without objects is empty"),
    ]

    private static func check(named name: String) throws -> StorageCheck {
        try #require(StorageConformance.checks.first { $0.name == name }, "there is no check '\(name)'")
    }

    @Test("is found out by the checks that are meant for it", arguments: faults)
    func isFoundOut(_ fault: Fault) async throws {
        for name in fault.checks {
            let check = try Self.check(named: name)
            let failure = await #expect(throws: ConformanceFailure.self, "\(name)") {
                try await check.run(against: fault.make())
            }
            #expect(failure?.check == name)
        }
    }

    @Test("is known for every check, so that each has been seen to fail")
    func everyCheckFails() {
        let seen = Set(Self.faults.flatMap(\.checks))
        #expect(Set(StorageConformance.checks.map(\.name)) == seen)
    }

    @Test("that shows a half-written object is seen by a reader")
    func removalIsSeenByReaders() async throws {
        let check = try Self.check(named: "a reader sees a whole object while it is being replaced")
        let storage = BrokenStorage(onDownload: { base, request, sink in
            let object = try await base.download(DownloadRequest(request.key, range: 0..<1_000), into: sink)
            return object
        })
        await #expect(throws: ConformanceFailure.self) { try await check.run(against: storage) }
    }

    /// Where the newest upload wins and the storage is asked afterwards, the others have nothing that could be proven.
    @Test("is none that refuses an upload whose bytes another one has replaced")
    func replacedUploads() async throws {
        let check = try Self.check(named: "uploads to one key beside each other leave one of them whole")
        try await check.run(against: BrokenStorage.refuses { $0 < 6 })
        let failure = await #expect(throws: ConformanceFailure.self) {
            try await check.run(against: BrokenStorage.refuses { $0 == 6 })
        }
        #expect(failure?.rule == "the object has the bytes of an upload that succeeded")
    }

    /// The bytes had all come, and the server was not done with them.
    @Test("is none that finishes a cancelled upload late")
    func lateUploads() async throws {
        let check = try Self.check(named: "an upload that is cancelled on its way leaves the whole object or nothing")
        try await check.run(against: BrokenStorage.finishesLate())
    }
}
