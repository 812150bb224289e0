import LFSWire

/// The requests that a session permits.
public struct SyncSessionRights: Sendable, Hashable {
    /// True if the session may read rows and objects, but change neither. The default is false.
    public var isReadOnly = false
    /// The tables or types that the session may use, such as `recipe` or `Recipe`. Nil for all.
    public var types: Set<String>?

    /// Creates the rights of a session without restrictions.
    public init() {}

    /// - Parameter text: the value of `sync_session.types`, or nil for all types.
    init(isReadOnly: Bool, types text: String?) {
        self.isReadOnly = isReadOnly
        types = text.map { Set($0.split(separator: ",").map(String.init)) }
    }

    /// The value of `sync_session.types`, or nil for all types.
    var text: String? { types.map { $0.sorted().joined(separator: ",") } }

    /// Returns the rights with the names of types instead of tables.
    ///
    /// - Throws: ``SyncSessionError/Code/unknownType``.
    func named(in schema: CheckedSchema) throws(SyncSessionError) -> SyncSessionRights {
        guard let types else { return self }
        var named = self
        var names: Set<String> = []
        for name in types {
            guard let table = schema.tables.first(where: { $0.name == name || $0.typeName == name }) else {
                let known = schema.tables.map(\.name).joined(separator: ", ")
                throw SyncSessionError(
                    code: .unknownType, message: "The server has no table '\(name)'. It has: \(known).")
            }
            names.insert(table.typeName)
        }
        named.types = names
        return named
    }

    func permits(_ type: String) -> Bool { types?.contains(type) ?? true }

    /// Checks a request that reads types.
    ///
    /// - Throws: ``WireFailure/Code/typeNotAllowed``.
    func requireAll(_ types: some Sequence<SyncType>) throws(WireFailure) {
        for type in types where !permits(type.name) {
            throw WireFailure(
                .typeNotAllowed,
                message: "The session may not use '\(type.name)'. Its types are: \(text ?? "").")
        }
    }

    /// Checks a push.
    ///
    /// - Throws: ``WireFailure/Code/readOnly``, ``WireFailure/Code/typeNotAllowed``.
    func requirePush(_ mutations: some Sequence<SyncMutation>) throws(WireFailure) {
        guard !isReadOnly else {
            throw WireFailure(.readOnly, message: "The session may only read. Changes need another session.")
        }
        guard types != nil else { return }
        try requireAll(mutations.lazy.map(\.type))
    }
}
