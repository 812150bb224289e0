import Foundation
import LFSStorage
import TestSupport
import Testing

@testable import LFSS3

@Suite("Credential providers") struct CredentialsProviderTests {
    private static let secrets = ["HUSH", "TOKEN"]

    private func environment(
        _ variables: [String: String] = [:], credentials: String? = nil, config: String? = nil,
        _ body: (AWSEnvironment) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { home in
            try FileManager.default.createDirectory(
                at: home.child(".aws"), withIntermediateDirectories: false)
            try credentials.map { try Data($0.utf8).write(to: home.child(".aws").child("credentials")) }
            try config.map { try Data($0.utf8).write(to: home.child(".aws").child("config")) }
            try await body(AWSEnvironment(variables: variables, home: home.path))
        }
    }

    private func expectUnauthorized(
        _ provider: S3CredentialsProvider, mentioning words: String...
    ) async {
        let error = await #expect(throws: StorageError.self) { try await provider.credentials() }
        #expect(error?.code == .unauthorized)
        for word in words { #expect(error?.message.contains(word) == true, "\(error?.message ?? "")") }
        for secret in Self.secrets { #expect(error?.message.contains(secret) == false) }
    }

    private func expect(_ credentials: S3Credentials, from provider: S3CredentialsProvider) async throws {
        #expect(try await provider.credentials() == credentials)
    }

    private func expectKey(_ accessKeyID: String, from provider: S3CredentialsProvider) async throws {
        #expect(try await provider.credentials().accessKeyID == accessKeyID)
    }

    @Test func showNoSecretWhereverTheyAreWritten() {
        let credentials = S3Credentials(
            accessKeyID: "AKIA", secretAccessKey: "HUSH", sessionToken: "TOKEN", expiration: .distantFuture)
        var dumped = ""
        dump(credentials, to: &dumped)
        dump(SignatureV4(credentials: credentials, region: "r").credentials, to: &dumped)
        dump([credentials], to: &dumped)
        for text in ["\(credentials)", String(reflecting: credentials), "\([credentials])", dumped] {
            #expect(text.contains("AKIA"))
            for secret in Self.secrets { #expect(!text.contains(secret), "\(text)") }
        }
    }

    @Test func comeFromTheEnvironment() async throws {
        try await environment([
            "AWS_ACCESS_KEY_ID": " A ", "AWS_SECRET_ACCESS_KEY": "HUSH\n", "AWS_SESSION_TOKEN": "TOKEN",
        ]) { environment in
            let expected = S3Credentials(accessKeyID: "A", secretAccessKey: "HUSH", sessionToken: "TOKEN")
            try await expect(expected, from: .environment(environment))
            try await expect(expected, from: .automatic(environment))
        }
    }

    @Test func thatAreHalfInTheEnvironmentAreAnError() async throws {
        let profile = "[default]\naws_access_key_id=P\naws_secret_access_key=HUSH"
        try await environment(["AWS_ACCESS_KEY_ID": "A"], credentials: profile) { environment in
            await expectUnauthorized(.environment(environment), mentioning: "set AWS_SECRET_ACCESS_KEY")
            await expectUnauthorized(.automatic(environment), mentioning: "set AWS_SECRET_ACCESS_KEY")
        }
        try await environment(["AWS_SECRET_ACCESS_KEY": "HUSH", "AWS_ACCESS_KEY_ID": ""]) { environment in
            await expectUnauthorized(.environment(environment), mentioning: "set AWS_ACCESS_KEY_ID")
        }
    }

    @Test func thatAreNowhereAreAnErrorThatNamesBothPlaces() async throws {
        try await environment { environment in
            await expectUnauthorized(
                .environment(environment), mentioning: "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
            await expectUnauthorized(
                .automatic(environment), mentioning: "AWS_ACCESS_KEY_ID", "'default'", environment.credentialsPath)
        }
    }

    @Test func comeFromTheProfileThatIsNamed() async throws {
        let text = """
            [default]
            aws_access_key_id = D
            aws_secret_access_key = HUSH
            [work]
            aws_access_key_id = W
            aws_secret_access_key = HUSH2
            aws_session_token = TOKEN
            """
        try await environment(credentials: text) { environment in
            try await expectKey("D", from: .profile(nil, in: environment))
            try await expectKey("D", from: .automatic(environment))
            try await expect(
                S3Credentials(accessKeyID: "W", secretAccessKey: "HUSH2", sessionToken: "TOKEN"),
                from: .profile("work", in: environment))
            await expectUnauthorized(
                .profile("none", in: environment), mentioning: "'none'", "[profile none]", environment.configPath)
        }
        try await environment(["AWS_PROFILE": "work"], credentials: text) { environment in
            try await expectKey("W", from: .profile(nil, in: environment))
            #expect(
                try await S3CredentialsProvider.profile("default", in: environment).credentials().accessKeyID == "D")
        }
    }

    @Test func comeFromTheConfigWhenTheOtherFileHasNone() async throws {
        let config = "[default]\naws_access_key_id=C\naws_secret_access_key=HUSH\n[profile x]\nregion=r\n[y]\nregion=r"
        try await environment(config: config) { environment in
            try await expectKey("C", from: .profile(nil, in: environment))
            await expectUnauthorized(.profile("x", in: environment), mentioning: "'x' has no credentials")
            await expectUnauthorized(.profile("y", in: environment), mentioning: "no profile 'y'")
        }
    }

    @Test func ofOnePairComeFromOneFile() async throws {
        try await environment(
            credentials: "[default]\naws_access_key_id=A", config: "[default]\naws_secret_access_key=HUSH"
        ) { environment in
            await expectUnauthorized(
                .profile(nil, in: environment), mentioning: "'default'", environment.credentialsPath,
                "set aws_secret_access_key")
        }
    }

    @Test func comeFromFilesThatVariablesName() async throws {
        try await environment { environment in
            var environment = environment
            try Data("[default]\naws_access_key_id=O\naws_secret_access_key=HUSH".utf8).write(
                to: URL(fileURLWithPath: environment.home).child("other"))
            environment.variables = ["AWS_SHARED_CREDENTIALS_FILE": "~/other"]
            try await expectKey("O", from: .automatic(environment))
        }
    }

    @Test func thatNeedAnotherProgramAreAnErrorThatSaysSo() async throws {
        try await environment(config: "[default]\ncredential_process = /bin/x --secret HUSH") { environment in
            await expectUnauthorized(.profile(nil, in: environment), mentioning: "credential_process", ".custom")
        }
    }

    @Test func mayComeFromAClosure() async throws {
        let credentials = S3Credentials(accessKeyID: "A", secretAccessKey: "HUSH")
        #expect(try await S3CredentialsProvider.static(credentials).credentials() == credentials)
        #expect(try await S3CredentialsProvider.custom { credentials }.credentials() == credentials)
    }
}
