/// The settings of the user's other devices: see ``CompanionTransport``.
extension StorageRouter {
    /// Takes what other devices have published, and publishes what was set here: of keys that go by themselves, and of
    /// those that go when the app asks for it.
    ///
    /// A router that runs does so by itself for the former ones. Each transport has its turn, also after one failed.
    /// After a removal of everything nothing is taken any more by this router; what was published before is
    /// withdrawn.
    ///
    /// All that others have published is read, also what a router that runs has read before.
    ///
    /// - Throws: the error of the first transport that has failed: ``SettingsError/Code/transportFailed``;
    ///   ``SettingsError/Code/timedOut`` for one that has not answered within ``CompanionOptions/deadline``;
    ///   ``SettingsError/Code/tooLarge`` when some values did not fit, and all others were published;
    ///   ``SettingsError/Code/clockAhead``; errors of the database. What single devices have published and is not taken
    ///   is no error, and stands in ``companions``.
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

    /// How it stands with the other devices, for each transport.
    public nonisolated var companions: [CompanionStatus] { companionRunners.map(\.status) }
}
