/// A step that migrates the data of a catalog from one version to the next.
public struct DataStep: Sendable {
    /// The version at which the step starts. It ends at the next version.
    public let version: Int
    let effects: @Sendable () async throws -> Void
    let change: @Sendable (SettingsBatch) throws -> Void

    /// Creates a step.
    ///
    /// - Parameters:
    ///   - version: the version of the data that the step takes.
    ///   - effects: work outside the transaction, done before the change. It may be repeated after a crash.
    ///   - change: changes values and rows of the app, in one transaction with the new version. It may run twice.
    ///     Setting a synced key that was removed on this or another device has no effect, unless a step removed it.
    public static func from(
        _ version: Int, effects: @escaping @Sendable () async throws -> Void = {},
        _ change: @escaping @Sendable (SettingsBatch) throws -> Void
    ) -> DataStep {
        DataStep(version: version, effects: effects, change: change)
    }
}
