extension StorageRouter {
    /// Reads the settings that other devices have published, and publishes those set on this device. It includes the
    /// keys that sync automatically and those that sync on request (``SettingSync/manual``).
    ///
    /// A running router syncs the automatic keys without this call. Each transport is called, even after another one
    /// failed. After ``removeAll()`` this router takes no values from other devices any more, and withdraws what it has
    /// published.
    ///
    /// The call reads everything that others have published, including what a running router has already read.
    ///
    /// - Throws: the error of the first transport that failed, ``SettingsError/Code/transportFailed``,
    ///   ``SettingsError/Code/timedOut`` when a transport does not answer within ``CompanionOptions/deadline``,
    ///   ``SettingsError/Code/tooLarge`` when some values did not fit, after all others were published,
    ///   ``SettingsError/Code/clockAhead``, and errors of the database. Data of single devices that this device does
    ///   not accept is not an error. ``companions`` reports it.
    public nonisolated func synchronize() async throws {
        var failure: (any Error)?
        for runner in companionRunners {
            do {
                try await runner.synchronize(includesManual: true)
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// The state of the sync with other devices, for each transport.
    public nonisolated var companions: [CompanionStatus] { companionRunners.map(\.status) }
}
