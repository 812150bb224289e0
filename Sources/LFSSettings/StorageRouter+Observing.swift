import LFSDatabase

extension StorageRouter {
    /// The values of a key over time: the present one or the default first, and from then on each change of this
    /// process, and while the router runs those of others.
    public nonisolated func values<Value>(of key: StorageKey<Value>) -> SettingValues<Value> {
        readings(of: key, absent: key.serializedDefault) { try key.orDefault($0) }
    }

    /// As ``values(of:)``, nil while none is stored.
    public nonisolated func valuesIfPresent<Value>(of key: StorageKey<Value>) -> SettingValues<Value?> {
        readings(of: key, absent: nil) { $0 }
    }

    /// - Parameter absent: what stands for a value that is not stored, so that an equal one is not told after it.
    private nonisolated func readings<Value, Element>(
        of key: StorageKey<Value>, absent: SerializedValue?, _ element: @escaping @Sendable (Value?) throws -> Element
    ) -> SettingValues<Element> {
        let (access, changes) = (access, changes)
        return SettingValues(
            subscribe: { access.hub.subscribe(key.name, isInDatabase: key.domain.isDatabase) },
            read: {
                // The database holds its observer weakly: it stays as long as somebody waits, also without the router.
                defer { withExtendedLifetime(changes) {} }
                let info = try access.usable(key)
                return try await access.catching(info, key.name) {
                    guard let content = try await access.content(key.name, info) else {
                        try await access.checkPending(key.name)
                        return SettingValues.Reading(content: absent, value: try element(nil))
                    }
                    return SettingValues.Reading(content: content, value: try element(try key.value(of: content)))
                }
            })
    }

    /// All values without a secret as they are now, to be read without waiting.
    ///
    /// - Throws: the database's error. What is wrong with one value is thrown when it is asked for.
    public nonisolated func snapshot() async throws -> SettingsSnapshot {
        try await SettingsError.catching(nil) {
            var values = try await access.runner.read(SettingTable.readAll).mapValues { $0.map(\.content) }
            for entry in access.registry.all where !entry.info.domain.isDatabase && !entry.info.isSecret {
                let info = entry.info
                guard info.availability.contains(.here), !info.isFamily else { continue }
                do {
                    values[info.name] = try await access.content(info.name, info).map { .success($0) }
                } catch {
                    guard let error = SettingsError.wrapping(error, info.publicName) as? SettingsError else {
                        throw error
                    }
                    values[info.name] = .failure(error)
                }
            }
            return SettingsSnapshot(
                registry: access.registry, pending: access.pending, problems: try await access.pendingProblems(),
                values: values)
        }
    }
}

extension StorageRouter {
    /// How many observations are under way.
    package nonisolated var observerCount: Int { access.hub.observerCount }
}
