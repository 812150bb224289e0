#if os(Linux)
import CSecret
import Foundation
import LFSSettings

/// What libsecret is asked in one call: of the Secret Service, or in a sandbox of its own file.
struct SecretItems: Sendable {
    /// An item that was found.
    struct Found: Sendable {
        fileprivate let object: ObjectReference
        fileprivate let isItem: Bool
        fileprivate let isLocked: Bool
        /// Seconds since 1970, as the service says.
        fileprivate let modified: UInt64
        fileprivate let path: String
        /// The name of the key.
        let name: String?
        /// What it keeps; nil while it is locked, and where it was not asked for.
        fileprivate(set) var content: Data?
    }

    let call: SecretCall
    let mayPrompt: Bool
    /// Whether the schema is ours. Other programs have others.
    var isOurs = true

    /// The items with these attributes, the one that counts first.
    ///
    /// - Parameter isReadable: what it does not take is read once more, in another session.
    /// - Throws: ``SettingsError/Code/locked`` and ``SettingsError/Code/promptDismissed`` when they may be there, and
    ///   cannot be seen.
    func find(
        _ attributes: [String: String], isReadable: @Sendable (Data) -> Bool = { _ in true }
    ) async throws -> [Found] {
        try await inSession { isService, isAgain in
            var found = try await search(attributes)
            let locked = try await locked(of: found, isService)
            if !locked.isEmpty {
                let isOpen = try await open(locked)
                // Also where it was not this question that has opened it, but the one of another program.
                found = try await search(attributes)
                let isLocked = try await !self.locked(of: found, isService).isEmpty
                guard !isLocked else { throw isOpen ? SecretFailure.closed : SecretFailure.dismissed }
            }
            // Those that the search has not brought, and then with a reason.
            for index in found.indices where found[index].content == nil {
                found[index].content = try await content(of: found[index].object)
            }
            guard isAgain || found.allSatisfy({ isReadable($0.content ?? Data()) }) else {
                throw SecretFailure.Reply.unreadable
            }
            return found.sorted { ($1.modified, $0.path) < ($0.modified, $1.path) }
        }
    }

    /// Puts text into an item, makes it where there is none, and looks whether the service gives it back.
    func put(_ text: String, _ attributes: [String: String], label: String, into found: Found?) async throws {
        try await inSession { isService, isAgain in
            // An object of the session before is of no use.
            let found = isAgain ? try await search(attributes).first : found
            try await write(text, attributes, label, into: found, isService)
            guard isService else { return }
            let kept = try await search(attributes)
            // What has been locked in between cannot be seen.
            guard kept.contains(where: { $0.isLocked || $0.content == Data(text.utf8) }) else {
                throw SecretFailure.Reply.unreadable
            }
        }
    }

    /// Removes items that were found by the attributes.
    func remove(_ found: [Found], _ attributes: [String: String]) async throws {
        try await inSession { _, isAgain in
            let found = isAgain ? try await search(attributes) : found
            for item in found where item.isItem { try await delete(item.object) }
            if !found.allSatisfy(\.isItem) { try await clear(attributes) }
        }
    }

    /// Does something, and where the service refuses it, again in another session.
    ///
    /// libsecret and KWallet 5.103 count the zeros in front of a key differently: of 1,600 sessions 25 were refused, or
    /// what one side had encrypted was unreadable for the other. Besides, a question for the password is withdrawn by
    /// KWallet when that of another program is answered. All of it passes in four attempts.
    ///
    /// Source of the keys: the Secret Service API, draft 0.2, part "Transfer of Secrets".
    ///
    /// - Parameter body: told whether there is a service, and whether it runs again.
    private func inSession<Result>(_ body: (Bool, Bool) async throws -> Result) async throws -> Result {
        let isService = try await backend() != .file
        var attempt = 1
        while true {
            do {
                return try await body(isService, attempt > 1)
            } catch let reply as SecretFailure.Reply {
                attempt += 1
                guard isService, reply.mayPass, attempt <= 4 else {
                    throw SecretFailure.error(of: reply, isService: isService)
                }
                SecretLoop.run { lfs_secret_disconnect() }
                // What was found before need not be in the keyring of another process.
                guard try await backend() == .service else {
                    throw SecretFailure.error(of: reply, isService: isService)
                }
            }
        }
    }

    // MARK: Operations

    /// What has to be opened to see what is asked for.
    private func locked(of found: [Found], _ isService: Bool) async throws -> [ObjectReference] {
        let locked = found.filter(\.isLocked).map(\.object)
        // A service need not tell what is in a locked keyring.
        guard found.isEmpty, isService, let collection = try await collection(), collection.isLocked else {
            return locked
        }
        return [collection.object]
    }

    private func write(
        _ text: String, _ attributes: [String: String], _ label: String, into found: Found?, _ isService: Bool
    ) async throws {
        if let found, found.isItem { return try await replace(found.object, text) }
        guard isService, try await collection() == nil else { return try await make(text, attributes, label) }
        guard mayPrompt else { throw SecretFailure.noCollection }
        do {
            try await make(text, attributes, label)
        } catch is SecretFailure.Reply {
            // libsecret goes on as if there were a keyring, and meets none.
            throw SecretFailure.dismissed
        }
    }

    private enum Backend { case file, service, anotherService }

    private func backend() async throws -> Backend {
        let first = try await backendNumber()
        guard first == 2 else { return first == 0 ? .file : .service }
        return try await backendNumber() == 0 ? .file : .anotherService
    }

    private func backendNumber() async throws -> Int32 {
        do {
            return try await call.perform { cancellable, answer, context in
                lfs_secret_backend(cancellable, answer, context)
            } _: { result, error in
                lfs_secret_backend_finish(result, &error)
            }
        } catch let reply as SecretFailure.Reply {
            throw SecretFailure.error(of: reply, isService: true)
        }
    }

    private func search(_ attributes: [String: String]) async throws -> [Found] {
        let isOurs: Int32 = isOurs ? 1 : 0
        let found = try await call.perform { cancellable, answer, context in
            Self.withTable(attributes) { lfs_secret_search($0, isOurs, cancellable, answer, context) }
        } _: { result, error in
            let list = lfs_secret_search_finish(result, &error)
            defer { lfs_secret_list_free(list) }
            var (found, node): ([Found?], _) = ([], list)
            while let current = node {
                if let object = current.pointee.object { found.append(Self.found(object)) }
                node = current.pointee.next
            }
            return found
        }
        let known = found.compactMap { $0 }
        guard known.count == found.count else { throw SecretFailure.unavailable("it ended in the middle of a call") }
        return known
    }

    /// Nil when the service has not said what it is.
    private static func found(_ object: UnsafeMutableRawPointer) -> Found? {
        let isItem = lfs_secret_is_item(object) != 0
        guard !isItem || lfs_secret_item_is_known(object) != 0 else {
            lfs_secret_unref(object)
            return nil
        }
        let name = lfs_secret_attribute(object, "key")
        defer { lfs_secret_free(name) }
        let isLocked = isItem && lfs_secret_item_is_locked(object) != 0
        let path = isItem ? lfs_secret_item_path(object) : nil
        return Found(
            object: ObjectReference(object), isItem: isItem, isLocked: isLocked, modified: lfs_secret_modified(object),
            path: path.map { String(cString: $0) } ?? "", name: name.map { String(cString: $0) },
            content: isItem && !isLocked ? bytes(takingValue: lfs_secret_item_value(object)) : nil)
    }

    private func content(of object: ObjectReference) async throws -> Data? {
        try await call.perform { cancellable, answer, context in
            lfs_secret_retrieve(object.pointer, cancellable, answer, context)
        } _: { result, error in
            Self.bytes(takingValue: lfs_secret_retrieve_finish(object.pointer, result, &error))
        }
    }

    private static func bytes(takingValue value: UnsafeMutableRawPointer?) -> Data? {
        guard let value else { return nil }
        defer { lfs_secret_value_unref(value) }
        var count = 0
        guard let bytes = lfs_secret_value_bytes(value, &count) else { return Data() }
        return Data(bytes: bytes, count: count)
    }

    /// - Returns: whether this question has opened something.
    private func open(_ objects: [ObjectReference]) async throws -> Bool {
        guard mayPrompt else { throw SecretFailure.closed }
        return try await call.perform { cancellable, answer, context in
            var list: UnsafeMutablePointer<lfs_secret_list>?
            for object in objects { list = lfs_secret_list_append(list, object.pointer) }
            lfs_secret_unlock(list, cancellable, answer, context)
            lfs_secret_list_free(list)
        } _: { result, error in
            lfs_secret_unlock_finish(result, &error) > 0
        }
    }

    /// The default keyring; nil when there is none.
    private func collection() async throws -> (object: ObjectReference, isLocked: Bool)? {
        try await call.perform { cancellable, answer, context in
            lfs_secret_collection(cancellable, answer, context)
        } _: { result, error in
            guard let collection = lfs_secret_collection_finish(result, &error) else { return nil }
            return (ObjectReference(collection), lfs_secret_collection_is_locked(collection) != 0)
        }
    }

    private func replace(_ object: ObjectReference, _ text: String) async throws {
        _ = try await call.perform { cancellable, answer, context in
            lfs_secret_item_replace(object.pointer, text, cancellable, answer, context)
        } _: { result, error in
            lfs_secret_item_replace_finish(object.pointer, result, &error)
        }
    }

    private func make(_ text: String, _ attributes: [String: String], _ label: String) async throws {
        let isStored = try await call.perform { cancellable, answer, context in
            Self.withTable(attributes) { lfs_secret_store($0, label, text, cancellable, answer, context) }
        } _: { result, error in
            lfs_secret_store_finish(result, &error) != 0
        }
        guard isStored else { throw SecretFailure.dismissed }
    }

    private func delete(_ object: ObjectReference) async throws {
        _ = try await call.perform { cancellable, answer, context in
            lfs_secret_item_delete(object.pointer, cancellable, answer, context)
        } _: { result, error in
            lfs_secret_item_delete_finish(object.pointer, result, &error)
        }
    }

    private func clear(_ attributes: [String: String]) async throws {
        let isOurs: Int32 = isOurs ? 1 : 0
        _ = try await call.perform { cancellable, answer, context in
            Self.withTable(attributes) { lfs_secret_clear($0, isOurs, cancellable, answer, context) }
        } _: { result, error in
            lfs_secret_clear_finish(result, &error)
        }
    }

    /// libsecret takes what it needs of the table before it returns.
    private static func withTable(_ attributes: [String: String], _ body: (UnsafeMutableRawPointer?) -> Void) {
        let table = lfs_secret_attributes()
        for (name, value) in attributes { lfs_secret_attributes_add(table, name, value) }
        body(table)
        lfs_secret_attributes_unref(table)
    }
}
#endif
