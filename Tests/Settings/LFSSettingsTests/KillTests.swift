import Foundation
import GRDB
import LFSSettings
import TestSupport
import Testing

@Suite("Kills and faults of settings operations", .serialized, .timeLimit(.minutes(15)))
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

    /// A bound above the number of operations in any flow.
    private static let most = 400

    private func keys(_ flow: Flow) throws -> (StorageKey<String>, StorageKey<String>) {
        let store = try #require(Store(rawValue: flow.domain))
        return (store.key("first"), store.key("second"))
    }

    /// Makes a place in which both keys have the value `old`, runs the flow with its n-th operation failing, and passes
    /// the stored values to the check.
    private func run(
        _ flow: Flow, failing number: Int, kind: HelperRun.Kind, below: String? = nil,
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
            let result = try await HelperRun(
                "flow", in: folder, arguments: flow.domain, flow.name, "new"
            )
            .finish(failing: number, kind, below: below)
            let after = Place(folder: folder, database: try Place.database(in: folder))
            let again = try await after.open {
                first
                second
            }
            try check(result, try await again.getIfPresent(first), try await again.getIfPresent(second))
            // The next change removes unfinished files at the latest.
            try await again.set("more", for: first)
            #expect(try await again.get(first) == "more")
            try after.database.close()
            let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            #expect(paths.filter { $0.hasSuffix(".unfinished") } == [])
            hasFired = result.hasFired
        }
        return hasFired
    }

    @Test("A kill at any operation leaves the old or the new value and no partial batch", arguments: flows)
    private func kill(flow: Flow) async throws {
        let new: String? = flow.name == "remove" ? nil : "new"
        var count = 0
        for number in 1...Self.most {
            let hasFired = try await run(flow, failing: number, kind: .kill) { result, first, second in
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

    @Test("Any failing operation is a typed error that leaves a readable value", arguments: flows)
    private func fail(flow: Flow) async throws {
        let new: String? = flow.name == "remove" ? nil : "new"
        var words: Set<String> = []
        for kind in HelperRun.Kind.allCases where kind != .kill {
            for number in 1...Self.most {
                let hasFired = try await run(flow, failing: number, kind: kind) { result, first, second in
                    let word = try #require(result.word, "\(kind) \(number): it ended with \(result.status)")
                    words.insert(word)
                    #expect(first == "old" || first == new, "\(kind) \(number): \(word)")
                    #expect(second == (flow.name == "batch" ? first : "old"), "\(kind) \(number): \(word)")
                    // A successful flow stored the new value. A failure never reports success.
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

    // SQLite tolerates some failures of its own operations, such as those when a connection closes. The settings
    // tolerate none.
    @Test(
        "No failing operation on a value's file is ignored",
        arguments: flows.filter { $0.domain.contains("ile") })
    private func swallowed(flow: Flow) async throws {
        for kind: HelperRun.Kind in [.EIO, .ENOSPC, .EMFILE] {
            var count = 0
            for number in 1...Self.most {
                let hasFired = try await run(flow, failing: number, kind: kind, below: "app.sqlite.settings") {
                    result, _, _ in
                    guard result.hasFired else { return }
                    if kind == .EMFILE {
                        // The next attempt gets a descriptor.
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
