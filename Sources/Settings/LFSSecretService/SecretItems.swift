#if os(Linux)
import CSecret
import Foundation
import LFSSettings

/// The libsecret operations of one call. They use the Secret Service, or libsecret's own file in a sandbox.
struct SecretItems: Sendable {
    /// An item that was found.
    struct Match: Sendable {
        fileprivate let object: ObjectReference
        fileprivate let isItem: Bool
        fileprivate let isLocked: Bool
        /// The modification time that the service reports, in seconds since 1970.
        fileprivate let modified: UInt64
        fileprivate let path: String
        /// The name of the key.
        let name: String?
        /// The content. Nil while the item is locked, or if it was not requested.
        fileprivate(set) var content: Data?
    }

    let call: SecretCall
    let mayPrompt: Bool
    /// True if the items have the schema of LFS. Items of other programs have other schemas.
    var isOurs = true

    /// Runs one call. All of its requests go to the same process of the service.
    ///
    /// - Throws: the errors of ``SecretCall/run(deadline:clock:_:)``.
    static func run<Result: Sendable>(
        mayPrompt: Bool, isOurs: Bool = true, deadline: Duration, clock: any Clock<Duration>,
        _ body: @escaping @Sendable (SecretItems) async throws -> Result
    ) async throws -> Result {
        do {
            return try await attempt(mayPrompt: mayPrompt, isOurs: isOurs, deadline: deadline, clock: clock, body)
        } catch let unasked as SecretFailure.PromptRequired {
            throw unasked.error
        }
    }

    /// Does the same for a caller that handles the case in which a prompt would be necessary.
    ///
    /// - Throws: also ``SecretFailure/PromptRequired`` in that case.
    static func attempt<Result: Sendable>(
        mayPrompt: Bool, isOurs: Bool = true, deadline: Duration, clock: any Clock<Duration>,
        _ body: @escaping @Sendable (SecretItems) async throws -> Result
    ) async throws -> Result {
        try await SecretCall.run(deadline: deadline, clock: clock) { call in
            try await body(SecretItems(call: call, mayPrompt: mayPrompt, isOurs: isOurs))
        }
    }

    /// Finds the items with these attributes. The newest is the first.
    ///
    /// - Throws: ``SettingsError/Code/locked`` and ``SettingsError/Code/promptDismissed`` if there may be items that
    ///   cannot be seen, and ``SettingsError/Code/corrupted`` if no session returns them unchanged.
    func find(_ attributes: [String: String]) async throws -> [Match] {
        try await inSession(orThrow: SecretFailure.unreadable) { isService, session in
            let found = try await findOpen(attributes, isService: isService)
            guard isService else { return (found, fits: true) }
            return (found, fits: try await isReadable(found, attributes: attributes, in: session))
        }
    }

    /// Stores text in an existing or new item, and checks that the service returns the same text.
    func put(_ text: String, attributes: [String: String], label: String, into found: Match?) async throws {
        var found = found
        try await inSession(orThrow: SecretFailure.notKept) { isService, _ in
            try await write(text, attributes: attributes, label: label, into: found, isService: isService)
            guard isService else { return ((), fits: true) }
            let kept = try await search(attributes)
            guard try await locked(of: kept, isService).isEmpty else {
                // The keyring was locked in between, so the content cannot be read. An item that is listed or was
                // replaced exists.
                guard found?.isItem == true || !kept.isEmpty else { throw SecretFailure.closed }
                return ((), fits: true)
            }
            // Making an item can require a prompt too. libsecret treats a missing answer as success.
            guard let first = kept.first else { throw SecretFailure.dismissed }
            return ((), fits: first.content == Data(text.utf8))
        } again: {
            // Objects of the former session cannot be used. This search never prompts.
            let again = try await search(attributes)
            guard try await locked(of: again, true).isEmpty else { throw SecretFailure.closed }
            found = again.first
        }
    }

    /// Removes items that were found by the attributes, and checks that they are deleted.
    func remove(_ found: [Match], attributes: [String: String]) async throws {
        guard !found.isEmpty else { return }
        try await inProcess { isService in
            for item in found where item.isItem { try await delete(item.object) }
            if !found.allSatisfy(\.isItem) { try await clear(attributes) }
            guard isService else { return }
            let left = try await search(attributes)
            guard try await locked(of: left, isService).isEmpty else { throw SecretFailure.closed }
            // Removing can require a prompt too. libsecret treats a missing answer as success.
            guard left.isEmpty else { throw SecretFailure.dismissed }
        }
    }

    // MARK: Sessions

    /// Runs an operation, and repeats it in another session if the current one does not work.
    ///
    /// libsecret and KWallet 5.103 treat leading zeros of a key differently. Of 1,600 sessions 25 were refused, or one
    /// side could not read the other's encrypted data.
    ///
    /// Source of the keys: the Secret Service API, draft 0.2, part "Transfer of Secrets".
    ///
    /// - Parameters:
    ///   - failure: the error if the session does not work and no other may be started.
    ///   - body: receives whether there is a service, and the number of the session. It returns whether the session
    ///     works.
    ///   - again: prepares another run of the body.
    private func inSession<Result>(
        orThrow failure: SettingsError,
        _ body: (_ isService: Bool, _ session: Int) async throws -> (Result, fits: Bool),
        again: () async throws -> Void = {}
    ) async throws -> Result {
        try await inProcess { isService in
            while true {
                let session = SecretSessions.number
                do {
                    let (result, fits) = try await body(isService, session)
                    if fits { return result }
                    guard try await giveUp(session) else { throw failure }
                } catch let reply as SecretFailure.Reply {
                    guard isService, reply.mayBeOfSession, try await giveUp(session) else { throw reply }
                }
                try await again()
            }
        }
    }

    /// Runs an operation with the process of the service with which the call started.
    private func inProcess<Result>(_ body: (_ isService: Bool) async throws -> Result) async throws -> Result {
        let isService = try await backend().isService
        do {
            let result = try await body(isService)
            _ = try await backend()
            return result
        } catch let reply as SecretFailure.Reply {
            _ = try await backend()
            let error = SecretFailure.error(of: reply, isService: isService)
            throw reply.isOfLock && !mayPrompt ? SecretFailure.PromptRequired(error: error) : error
        }
    }

    /// Closes a session, so that the same process starts another one. Returns false if the service is not running, or
    /// if too many sessions were closed.
    private func giveUp(_ session: Int) async throws -> Bool {
        guard try await backend().process != nil, SecretSessions.giveUp(session) else { return false }
        return try await backend().process != nil
    }

    /// Returns the current backend.
    ///
    /// - Throws: an error if the process of the service has changed since the call started. Items that were found in
    ///   the former process may not be in the new one's keyring.
    private func backend() async throws -> (isService: Bool, process: String?) {
        var backend = try await currentBackend()
        if backend.kind == 2 { backend = try await currentBackend() }
        guard call.keeps(backend.process) else { throw SecretFailure.ended }
        return (backend.kind != 0, backend.process)
    }

    /// Returns true if the session returns the same content as another one would.
    ///
    /// With a key that does not work, the content is different each time. So two equal results are the stored content.
    private func isReadable(_ found: [Match], attributes: [String: String], in session: Int) async throws -> Bool {
        guard let first = found.first, let content = first.content else { return true }
        guard !isOurs else {
            return Data(base64URLEncoded: content) != nil
                || SecretSessions.hasSeen(content, at: first.path, session: session)
        }
        let again = try await search(attributes).first
        // KeePassXC can allow a single access only.
        return again?.isLocked == true || again?.content == content
    }

    // MARK: Operations

    private func findOpen(_ attributes: [String: String], isService: Bool) async throws -> [Match] {
        var found = try await search(attributes)
        let locked = try await locked(of: found, isService)
        if !locked.isEmpty {
            let isOpen = try await open(locked)
            // The search does not prompt again.
            found = try await search(attributes)
            let isLocked = try await !self.locked(of: found, isService).isEmpty
            guard !isLocked else { throw isOpen ? SecretFailure.closed : SecretFailure.dismissed }
        }
        // Items whose content the search did not return are read separately, which gives the reason for an error.
        for index in found.indices where found[index].content == nil {
            found[index].content = try await content(of: found[index].object)
        }
        return found
    }

    /// Returns the objects that have to be unlocked to see the items.
    private func locked(of found: [Match], _ isService: Bool) async throws -> [ObjectReference] {
        let locked = found.filter(\.isLocked).map(\.object)
        // A service may hide the items of a locked keyring.
        guard found.isEmpty, isService, let collection = try await collection(), collection.isLocked else {
            return locked
        }
        return [collection.object]
    }

    private func write(
        _ text: String, attributes: [String: String], label: String, into found: Match?, isService: Bool
    ) async throws {
        if let found, found.isItem { return try await replace(found.object, text: text) }
        guard isService, try await collection() == nil else {
            return try await make(text, attributes: attributes, label: label)
        }
        guard mayPrompt else { throw SecretFailure.PromptRequired(error: SecretFailure.noCollection) }
        do {
            try await make(text, attributes: attributes, label: label)
        } catch let reply as SecretFailure.Reply where reply.isOfAbsence {
            // libsecret continues as if there were a keyring, and fails unless another program has made one.
            guard let collection = try await collection(), !collection.isLocked else { throw SecretFailure.dismissed }
            try await make(text, attributes: attributes, label: label)
        }
    }

    private func currentBackend() async throws -> (kind: Int32, process: String?) {
        do {
            return try await call.perform { cancellable, answer, context in
                lfs_secret_backend(cancellable, answer, context)
            } _: { result, error in
                (lfs_secret_backend_finish(result, &error), lfs_secret_process().map { String(cString: $0) })
            }
        } catch let reply as SecretFailure.Reply {
            throw SecretFailure.error(of: reply, isService: true)
        }
    }

    /// Searches for items. The newest is the first.
    private func search(_ attributes: [String: String]) async throws -> [Match] {
        let isOurs: Int32 = isOurs ? 1 : 0
        let found = try await call.perform { cancellable, answer, context in
            Self.withTable(attributes) { lfs_secret_search($0, isOurs, cancellable, answer, context) }
        } _: { result, error in
            let list = lfs_secret_search_finish(result, &error)
            defer { lfs_secret_list_free(list) }
            var (found, node): ([Match?], _) = ([], list)
            while let current = node {
                if let object = current.pointee.object { found.append(Self.found(object)) }
                node = current.pointee.next
            }
            return found
        }
        let known = found.compactMap { $0 }
        guard known.count == found.count else { throw SecretFailure.ended }
        return known.sorted { ($1.modified, $0.path) < ($0.modified, $1.path) }
    }

    /// Returns nil if the service has not provided the item's properties.
    private static func found(_ object: UnsafeMutableRawPointer) -> Match? {
        let isItem = lfs_secret_is_item(object) != 0
        guard !isItem || lfs_secret_item_is_known(object) != 0 else {
            lfs_secret_unref(object)
            return nil
        }
        let name = lfs_secret_attribute(object, "key")
        defer { lfs_secret_free(name) }
        let isLocked = isItem && lfs_secret_item_is_locked(object) != 0
        let path = isItem ? lfs_secret_item_path(object) : nil
        return Match(
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

    /// - Returns: true if this prompt has unlocked something. False if the prompt could not be shown, or if KWallet
    ///   withdrew it because the prompt of another program was answered.
    private func open(_ objects: [ObjectReference]) async throws -> Bool {
        guard mayPrompt else { throw SecretFailure.PromptRequired(error: SecretFailure.closed) }
        do {
            return try await call.perform { cancellable, answer, context in
                var list: UnsafeMutablePointer<lfs_secret_list>?
                for object in objects { list = lfs_secret_list_append(list, object.pointer) }
                lfs_secret_unlock(list, cancellable, answer, context)
                lfs_secret_list_free(list)
            } _: { result, error in
                lfs_secret_unlock_finish(result, &error) > 0
            }
        } catch is SecretFailure.Reply {
            return false
        }
    }

    /// Returns the default keyring, or nil if it does not exist.
    private func collection() async throws -> (object: ObjectReference, isLocked: Bool)? {
        try await call.perform { cancellable, answer, context in
            lfs_secret_collection(cancellable, answer, context)
        } _: { result, error in
            guard let collection = lfs_secret_collection_finish(result, &error) else { return nil }
            return (ObjectReference(collection), lfs_secret_collection_is_locked(collection) != 0)
        }
    }

    private func replace(_ object: ObjectReference, text: String) async throws {
        _ = try await call.perform { cancellable, answer, context in
            lfs_secret_item_replace(object.pointer, text, cancellable, answer, context)
        } _: { result, error in
            lfs_secret_item_replace_finish(object.pointer, result, &error)
        }
    }

    private func make(_ text: String, attributes: [String: String], label: String) async throws {
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

    /// libsecret copies what it needs from the table before it returns.
    private static func withTable(_ attributes: [String: String], _ body: (UnsafeMutableRawPointer?) -> Void) {
        let table = lfs_secret_attributes()
        for (name, value) in attributes { lfs_secret_attributes_add(table, name, value) }
        body(table)
        lfs_secret_attributes_unref(table)
    }
}
#endif
