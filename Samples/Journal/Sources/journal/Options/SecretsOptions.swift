import ArgumentParser
import JournalWeb

/// Where the secrets of a journal are.
struct SecretsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The folder of the secrets, for this user alone: not beside the database, and not in its backups. Else "
                + "'journal' in $XDG_STATE_HOME, or ~/.local/state/journal.", valueName: "folder"))
    var secrets: String?

    /// - Throws: `SettingsError` where the environment has no place for them.
    func folder() throws -> SecretsFolder { try SecretsFolder(secrets) }
}
