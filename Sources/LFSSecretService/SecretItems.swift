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

    /// Runs one call, in which nothing is asked of another process of the service than that with which it begins.
    ///
    /// - Throws: what ``SecretCall/run(deadline:clock:_:)`` throws.
    static func run<Result: Sendable>(
        mayPrompt: Bool, isOurs: Bool = true, deadline: Duration, clock: any Clock<Duration>,
        _ body: @escaping @Sendable (SecretItems) async throws -> Result
    ) async throws -> Result {
        do {
            return try await attempt(mayPrompt: mayPrompt, isOurs: isOurs, deadline: deadline, clock: clock, body)
        } catch let unasked as SecretFailure.Unasked {
            throw unasked.error
        }
    }

    /// The same for one who goes on where somebody would have to be asked.
    ///
    /// - Throws: ``SecretFailure/Unasked`` then, too.
    static func attempt<Result: Sendable>(
        mayPrompt: Bool, isOurs: Bool = true, deadline: Duration, clock: any Clock<Duration>,
        _ body: @escaping @Sendable (SecretItems) async throws -> Result
    ) async throws -> Result {
        try await SecretCall.run(deadline: deadline, clock: clock) { call in
            try await body(SecretItems(call: call, mayPrompt: mayPrompt, isOurs: isOurs))
        }
    }

    /// The items with these attributes, the one that counts first.
    ///
    /// - Throws: ``SettingsError/Code/locked`` and ``SettingsError/Code/promptDismissed`` when they may be there, and
    ///   cannot be seen; ``SettingsError/Code/corrupted`` where no session brings them as they are.
    func find(_ attributes: [String: String]) async throws -> [Found] {
        try await inSession(orThrow: SecretFailure.unreadable) { isService, session in
            let found = try await findOpen(attributes, isService)
            guard isService else { return (found, fits: true) }
            return (found, fits: try await isReadable(found, attributes, in: session))
        }
    }

    /// Puts text into an item, makes it where there is none, and looks whether the service gives it back.
    func put(_ text: String, _ attributes: [String: String], label: String, into found: Found?) async throws {
        var found = found
        try await inSession(orThrow: SecretFailure.notKept) { isService, _ in
            try await write(text, attributes, label, into: found, isService)
            guard isService else { return ((), fits: true) }
            let kept = try await search(attributes)
            guard try await locked(of: kept, isService).isEmpty else {
                // It was locked in between, and cannot be seen. What was told, and what was replaced, is there.
                guard found?.isItem == true || !kept.isEmpty else { throw SecretFailure.closed }
                return ((), fits: true)
            }
            // Making it can ask too, and libsecret takes no answer for success.
            guard let first = kept.first else { throw SecretFailure.dismissed }
            return ((), fits: first.content == Data(text.utf8))
        } again: {
            // An object of the session before is of no use. This look asks nobody.
            let again = try await search(attributes)
            guard try await locked(of: again, true).isEmpty else { throw SecretFailure.closed }
            found = again.first
        }
    }

    /// Removes items that were found by the attributes, and looks whether they are gone.
    func remove(_ found: [Found], _ attributes: [String: String]) async throws {
        guard !found.isEmpty else { return }
        try await inProcess { isService in
            for item in found where item.isItem { try await delete(item.object) }
            if !found.allSatisfy(\.isItem) { try await clear(attributes) }
            guard isService else { return }
            let left = try await search(attributes)
            guard try await locked(of: left, isService).isEmpty else { throw SecretFailure.closed }
            // Removing can ask, and libsecret takes no answer for success.
            guard left.isEmpty else { throw SecretFailure.dismissed }
        }
    }

    // MARK: Sessions

    /// Does something, and where a session does not fit, again in another one.
    ///
    /// libsecret and KWallet 5.103 count the zeros in front of a key differently: of 1,600 sessions 25 were refused, or
    /// what one side had encrypted was unreadable for the other.
    ///
    /// Source of the keys: the Secret Service API, draft 0.2, part "Transfer of Secrets".
    ///
    /// - Parameters:
    ///   - failure: where the session does not fit, and no other may be begun.
    ///   - body: told whether there is a service, and the number of the session; says whether the session fits.
    ///   - again: prepares another run of it.
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

    /// Does something with the process of the service with which the call has begun.
    private func inProcess<Result>(_ body: (_ isService: Bool) async throws -> Result) async throws -> Result {
        let isService = try await backend().isService
        do {
            let result = try await body(isService)
            _ = try await backend()
            return result
        } catch let reply as SecretFailure.Reply {
            _ = try await backend()
            let error = SecretFailure.error(of: reply, isService: isService)
            throw reply.isOfLock && !mayPrompt ? SecretFailure.Unasked(error: error) : error
        }
    }

    /// Has the same process begin another session. False where nobody is there, and where it was done too often.
    private func giveUp(_ session: Int) async throws -> Bool {
        guard try await backend().process != nil, SecretSessions.giveUp(session) else { return false }
        return try await backend().process != nil
    }

    /// What is asked.
    ///
    /// - Throws: where it is not the process any more with which the call has begun. What was found there need not be
    ///   in the keyring of another.
    private func backend() async throws -> (isService: Bool, process: String?) {
        var backend = try await currentBackend()
        if backend.kind == 2 { backend = try await currentBackend() }
        guard call.keeps(backend.process) else { throw SecretFailure.ended }
        return (backend.kind != 0, backend.process)
    }

    /// Whether the session brings the same as another one would.
    ///
    /// A key that does not fit brings other bytes each time, so the same bytes twice are what is stored.
    private func isReadable(_ found: [Found], _ attributes: [String: String], in session: Int) async throws -> Bool {
        guard let first = found.first, let content = first.content else { return true }
        guard !isOurs else {
            return Data(base64URLEncoded: content) != nil || SecretSessions.hasSeen(content, at: first.path, session)
        }
        let again = try await search(attributes).first
        // KeePassXC can allow one look alone.
        return again?.isLocked == true || again?.content == content
    }

    // MARK: Operations

    private func findOpen(_ attributes: [String: String], _ isService: Bool) async throws -> [Found] {
        var found = try await search(attributes)
        let locked = try await locked(of: found, isService)
        if !locked.isEmpty {
            let isOpen = try await open(locked)
            // Not asked again here.
            found = try await search(attributes)
            let isLocked = try await !self.locked(of: found, isService).isEmpty
            guard !isLocked else { throw isOpen ? SecretFailure.closed : SecretFailure.dismissed }
        }
        // Those that the search has not brought, and then with a reason.
        for index in found.indices where found[index].content == nil {
            found[index].content = try await content(of: found[index].object)
        }
        return found
    }

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
        guard mayPrompt else { throw SecretFailure.Unasked(error: SecretFailure.noCollection) }
        do {
            try await make(text, attributes, label)
        } catch let reply as SecretFailure.Reply where reply.isOfAbsence {
            // libsecret goes on as if there were a keyring, and meets none, but where another program has made it.
            guard let collection = try await collection(), !collection.isLocked else { throw SecretFailure.dismissed }
            try await make(text, attributes, label)
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

    /// The one that counts first.
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
        guard known.count == found.count else { throw SecretFailure.ended }
        return known.sorted { ($1.modified, $0.path) < ($0.modified, $1.path) }
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

    /// - Returns: whether this question has opened something. It has not where it could not be shown, and where KWallet
    ///   has withdrawn it, because that of another program was answered.
    private func open(_ objects: [ObjectReference]) async throws -> Bool {
        guard mayPrompt else { throw SecretFailure.Unasked(error: SecretFailure.closed) }
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
