/// Brings the data of a catalog from one version to the next.
public struct DataStep: Sendable {
    /// The version that it begins at; it ends at the next one.
    public let version: Int
    let effects: @Sendable () async throws -> Void
    let change: @Sendable (SettingsBatch) throws -> Void

    /// A step.
    ///
    /// - Parameters:
    ///   - version: the version of the data that it takes.
    ///   - effects: what has to be done elsewhere, before the change; it may be repeated after a crash.
    ///   - change: changes values, and rows of the app, in one transaction with the new version. It may run twice. Of a
    ///     key that goes to other devices it sets none that was removed there or here, unless a step has removed it.
    public static func from(
        _ version: Int, effects: @escaping @Sendable () async throws -> Void = {},
        _ change: @escaping @Sendable (SettingsBatch) throws -> Void
    ) -> DataStep {
        DataStep(version: version, effects: effects, change: change)
    }
}
