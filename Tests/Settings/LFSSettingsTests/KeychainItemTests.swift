import Foundation
import LFSStorage
import LFSSystem
import Synchronization
import TestSupport
import Testing

@testable import LFSSettings

/// A Keychain in memory that behaves as Apple documents, records its calls, and fails on demand.
private final class RecordingKeychain: KeychainItems {
    struct State {
        var items: [String: Data] = [:]
        var calls: [String] = []
        /// The failure of the next calls of a name.
        var failures: [String: KeychainFailure] = [:]
        /// Adds an item after a call found none, as another process of the app does.
        var rival: Data?
    }

    let state = Mutex(State())

    var calls: [String] { state.withLock(\.calls) }
    func fail(_ call: String, with failure: KeychainFailure?) { state.withLock { $0.failures[call] = failure } }

    private func run<Value>(
        _ call: String, _ body: (inout State) throws(KeychainFailure) -> Value
    ) throws(KeychainFailure) -> Value {
        try state.withLock { state throws(KeychainFailure) in
            state.calls.append(call)
            if let failure = state.failures[call] { throw failure }
            return try body(&state)
        }
    }

    func content(service: String, account: String) throws(KeychainFailure) -> Data {
        try run("content") { state throws(KeychainFailure) in
            guard let item = state.items["\(service)/\(account)"] else { throw .itemNotFound }
            return item
        }
    }

    func accounts(service: String) throws(KeychainFailure) -> [String] {
        try run("accounts") { state throws(KeychainFailure) in
            let names = state.items.keys.filter { $0.hasPrefix("\(service)/") }.map {
                String($0.dropFirst(service.count + 1))
            }
            guard !names.isEmpty else { throw .itemNotFound }
            return names
        }
    }

    func add(_ content: Data, service: String, account: String) throws(KeychainFailure) {
        try run("add") { state throws(KeychainFailure) in
            guard state.items["\(service)/\(account)"] == nil else { throw .duplicateItem }
            state.items["\(service)/\(account)"] = content
        }
    }

    func update(_ content: Data, service: String, account: String) throws(KeychainFailure) {
        try run("update") { state throws(KeychainFailure) in
            guard state.items["\(service)/\(account)"] != nil else {
                state.items["\(service)/\(account)"] = state.rival
                state.rival = nil
                throw .itemNotFound
            }
            state.items["\(service)/\(account)"] = content
        }
    }

    func remove(service: String, account: String) throws(KeychainFailure) {
        try run("remove") { state throws(KeychainFailure) in
            guard state.items.removeValue(forKey: "\(service)/\(account)") != nil else { throw .itemNotFound }
        }
    }
}

@Suite("Items of Apple's Keychain", .timeLimit(.minutes(10))) struct KeychainItemTests {
    private let keychain = RecordingKeychain()
    private let owner = SecretOwner(installID: .make(), databasePath: "")

    private var store: KeychainItemStore { KeychainItemStore(keychain, owner: owner, accessGroup: "TEAM.group") }

    private func put(_ text: String, item: String = "token") async throws {
        try await store.update(item, requiring: nil) { _ in .put(Data(text.utf8)) }
    }

    private func code(_ body: () async throws -> Void) async -> SettingsError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? SettingsError)?.code
        }
    }

    @Test("A missing item is no value and no error")
    func missing() async throws {
        #expect(try await store.read("token", requiring: nil) == nil)
        #expect(try await store.items() == [])
    }

    @Test("A new item is added, and a known one is updated")
    func put() async throws {
        try await put("one")
        #expect(keychain.calls == ["update", "add"])
        try await put("two")
        #expect(keychain.calls == ["update", "add", "update"])
        #expect(try await store.read("token", requiring: nil) == Data("two".utf8))
        #expect(try await store.items() == ["token"])
    }

    @Test("An item that another process adds at the same moment is updated")
    func duplicate() async throws {
        keychain.state.withLock { $0.rival = Data("theirs".utf8) }
        try await put("ours")
        #expect(keychain.calls == ["update", "add", "update"])
        #expect(try await store.read("token", requiring: nil) == Data("ours".utf8))
    }

    @Test("Removing a missing item succeeds")
    func remove() async throws {
        try await store.update("token", requiring: nil) { _ in .remove }
        try await put("one")
        try await store.update("token", requiring: nil) { _ in .remove }
        #expect(try await store.read("token", requiring: nil) == nil)
    }

    @Test("A Keychain without the required item is not the one of this database")
    func lost() async throws {
        #expect(await code { _ = try await store.read("token", requiring: "lfs.sentinel") } == .keychainReplaced)
        let change = await code {
            try await store.update("token", requiring: "lfs.sentinel") { _ in .put(Data("one".utf8)) }
        }
        #expect(change == .keychainReplaced)
        #expect(!keychain.calls.contains("add"))
    }

    @Test("A Keychain before the first unlock is locked, and never empty")
    func interactionNotAllowed() async throws {
        try await put("one")
        keychain.fail("content", with: .interactionNotAllowed)
        #expect(await code { _ = try await store.read("token", requiring: nil) } == .locked)
        keychain.fail("content", with: nil)
        #expect(try await store.read("token", requiring: nil) == Data("one".utf8))
    }

    @Test("A missing entitlement is an error that names the capability")
    func missingEntitlement() async throws {
        keychain.fail("update", with: .missingEntitlement)
        let error = await #expect(throws: SettingsError.self) { try await put("one") }
        #expect(error?.code == .keychainUnavailable)
        #expect(error?.message.contains("Keychain Sharing") == true)
    }

    @Test("An unknown status is an error with its number, and without the value")
    func unknownStatus() async throws {
        keychain.fail("update", with: KeychainFailure(status: -50))
        let error = await #expect(throws: SettingsError.self) { try await put("s3cret") }
        #expect(error?.code == .keychainUnavailable)
        #expect(error?.message.contains("-50") == true)
        #expect(!String(reflecting: error).contains("s3cret"))
    }

    @Test("The stamp changes with a value and not without a change")
    func stamp() async throws {
        try await put("one")
        let first = try await store.stamp()
        #expect(try await store.stamp() == first)
        try await put("two")
        #expect(try await store.stamp() != first)
    }

    @Test("Two databases have separate items")
    func separate() async throws {
        try await put("one")
        let other = KeychainItemStore(
            keychain, owner: SecretOwner(installID: .make(), databasePath: ""), accessGroup: "TEAM.group")
        #expect(try await other.read("token", requiring: nil) == nil)
        #expect(try await other.items() == [])
    }

    @Test("A router stores a secret in the Keychain, and finds it after the next start")
    func router() async throws {
        let keychain = keychain
        let backend = KeychainBackend { KeychainItemStore(keychain, owner: $0, accessGroup: nil) }
        let token: StorageKey<String> = Store.keychain.key("token")
        try await withPlace { place in
            var options = place.options
            options.keychain = backend
            for start in 1...2 {
                let router = try await place.open(options) { token }
                if start == 1 { try await router.set("s3cret", for: token) }
                #expect(try await router.get(token) == "s3cret")
            }
        }
        #expect(keychain.state.withLock { $0.items.count } >= 2)
    }
}
