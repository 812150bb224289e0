import Foundation
import GRDB
import LFSSettings
import TestSupport
import Testing

@Suite("Settings killed or failing at any file operation", .serialized, .timeLimit(.minutes(15)))
struct KillTests {
    private struct Flow: Sendable, CustomTestStringConvertible {
        let name: String
        let domain: String
        var testDescription: String { "\(name) in \(domain)" }
    }

    private static let flows: [Flow] = [
        Flow(name: "set", domain: "database"), Flow(name: "batch", domain: "durable"),
        Flow(name: "update", domain: "encrypted"), Flow(name: "set", domain: "file"),
        Flow(name: "update", domain: "encryptedFile"), Flow(name: "remove", domain: "file"),
        Flow(name: "set", domain: "keychain"), Flow(name: "update", domain: "keychain"),
    ]

    /// More operations than any flow has.
    private static let most = 400

    private func keys(_ flow: Flow) throws -> (StorageKey<String>, StorageKey<String>) {
        let store = try #require(Store(rawValue: flow.domain))
        return (store.key("first"), store.key("second"))
    }

    /// Makes a place in which both keys have the value `old`, runs the flow with its n-th operation failing, and hands
    /// out what is stored then.
    private func run(
        _ flow: Flow, failing number: Int, _ kind: HelperRun.Kind, below: String? = nil,
        _ check: (HelperRun.Result, _ first: String?, _ second: String?) throws -> Void
    ) async throws -> Bool {
        var hasFired = false
        try await withTemporaryFolder { folder in
            let place = Place(folder: folder, database: try Place.database(in: folder))
            let (first, second) = try keys(flow)
            let storage = try await place.open {
                first
                second
            }
            try await storage.set("old", for: first)
            try await storage.set("old", for: second)
            try place.database.close()
            let result = try await HelperRun("flow", in: folder, flow.domain, flow.name, "new")
                .finish(failing: number, kind, below: below)
            let after = Place(folder: folder, database: try Place.database(in: folder))
            let again = try await after.open {
                first
                second
            }
            try check(result, try await again.getIfPresent(first), try await again.getIfPresent(second))
            // What was left unfinished goes with the next change at the latest.
            try await again.set("more", for: first)
            #expect(try await again.get(first) == "more")
            try after.database.close()
            let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            #expect(paths.filter { $0.hasSuffix(".unfinished") } == [])
            hasFired = result.hasFired
        }
        return hasFired
    }

    @Test(
        "Killed at each operation there is the old value or the new one, and never a part of a batch", arguments: flows)
    private func kill(flow: Flow) async throws {
        let new: String? = flow.name == "remove" ? nil : "new"
        var count = 0
        for number in 1...Self.most {
            let hasFired = try await run(flow, failing: number, .kill) { result, first, second in
                #expect(first == "old" || first == new, "operation \(number)")
                #expect(second == (flow.name == "batch" ? first : "old"), "operation \(number)")
                if !result.hasFired { #expect(result.word == "ok" && first == new) }
            }
            if !hasFired { break }
            count = number
        }
        #expect(count >= 2, "Only \(count) operations were killed.")
        #expect(count < Self.most)
    }

    @Test("Each failing operation is a typed error, after which a whole value is readable", arguments: flows)
    private func fail(flow: Flow) async throws {
        let new: String? = flow.name == "remove" ? nil : "new"
        var words: Set<String> = []
        for kind in HelperRun.Kind.allCases where kind != .kill {
            for number in 1...Self.most {
                let hasFired = try await run(flow, failing: number, kind) { result, first, second in
                    let word = try #require(result.word, "\(kind) \(number): it ended with \(result.status)")
                    words.insert(word)
                    #expect(first == "old" || first == new, "\(kind) \(number): \(word)")
                    #expect(second == (flow.name == "batch" ? first : "old"), "\(kind) \(number): \(word)")
                    // Done is only what was said to be, and an error is never said to be done.
                    if word == "ok" { #expect(first == new, "\(kind) \(number)") }
                    let isTyped = word.wholeMatch(of: /[a-zA-Z]+/) != nil
                    #expect(isTyped, "\(kind) \(number): \(word)")
                }
                if !hasFired { break }
            }
        }
        #expect(words.contains { $0 != "ok" })
        #expect(words.isSubset(of: ["ok", "noSpace", "system", "database", "permissionDenied"]), "\(words)")
    }

    // SQLite goes on without some of its own, such as those at the end of a connection; we go on without none.
    @Test(
        "No failing operation on a value's file is taken for none",
        arguments: flows.filter { $0.domain.contains("ile") })
    private func swallowed(flow: Flow) async throws {
        for kind: HelperRun.Kind in [.EIO, .ENOSPC, .EMFILE] {
            var count = 0
            for number in 1...Self.most {
                let hasFired = try await run(flow, failing: number, kind, below: "app.sqlite.settings") {
                    result, _, _ in
                    guard result.hasFired else { return }
                    if kind == .EMFILE {
                        // The next try gets a descriptor.
                        #expect(result.word == "ok", "\(kind) \(number)")
                    } else {
                        #expect(result.word != "ok", "\(kind) \(number) was swallowed")
                    }
                }
                if !hasFired { break }
                count = number
            }
            #expect(count >= 1, "\(kind)")
        }
    }
}
