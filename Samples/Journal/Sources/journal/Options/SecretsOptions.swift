import ArgumentParser
import JournalWeb

/// The option for the folder of a journal's secrets.
struct SecretsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The folder of the secrets. See 'journal help secrets' for the default.", valueName: "folder"))
    var secrets: String?

    /// - Throws: `SettingsError` if the environment has no folder for them.
    func folder() throws -> SecretsFolder { try SecretsFolder(secrets) }
}
