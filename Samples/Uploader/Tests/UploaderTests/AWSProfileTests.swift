import Foundation
import Synchronization
import Testing

@Suite("AWS profiles", .timeLimit(.minutes(10)))
struct AWSProfileTests {
    private static let profile = """
        [profile work]
        sso_session = company
        sso_account_id = 123456789012
        sso_role_name = Backup
        services = local
        [sso-session company]
        sso_region = eu-west-1
        sso_start_url = https://company.awsapps.com/start
        """

    /// Writes the AWS configuration files into the folder, and pushes with the profile.
    private func push(
        _ server: AnsweringServer, config: String, loginEnds: String, in folder: URL
    ) throws -> UploaderProcess.Result {
        let cache = folder.appendingPathComponent(".aws/sso/cache")
        try FileManager.default.createDirectory(at: cache, withIntermediateDirectories: true)
        try Data(config.utf8).write(to: folder.appendingPathComponent(".aws/config"))
        // The file name is the SHA-1 of the session's name.
        try Data("{\"accessToken\": \"LOGIN\", \"expiresAt\": \"\(loginEnds)\"}".utf8)
            .write(to: cache.appendingPathComponent("71b21161ffa1e6516bcc072aaf5ef38cbe85b511.json"))
        return try UploaderProcess(
            ["push", "--database", "a.sqlite", "--to", "s3://photos?addressing=path&region=x", "files"], in: folder,
            environment: [
                "HOME": folder.path, "AWS_PROFILE": "work", "AWS_ENDPOINT_URL_SSO": server.url.absoluteString,
            ]
        ).wait()
    }

    @Test("A login of aws sso login supplies the role's keys and the configured endpoint")
    func login() throws {
        let seen = Mutex<[AnsweringServer.Request]>([])
        try withFolder(files: 1) { folder in
            let server = try AnsweringServer { request, _ in
                seen.withLock { $0.append(request) }
                guard request.path.hasPrefix("/federation/credentials") else { return .uploaded(request) }
                let body = """
                    {"roleCredentials": {"accessKeyId": "ROLEKEY", "secretAccessKey": "ROLESECRET",
                    "sessionToken": "ROLETOKEN", "expiration": 4102444800000}}
                    """
                return AnsweringServer.Answer(body: Data(body.utf8))
            }
            defer { server.close() }
            let services = "\n[services local]\ns3 =\n  endpoint_url = \(server.url.absoluteString)\n"
            let run = try push(
                server, config: Self.profile + services, loginEnds: "2099-01-01T00:00:00Z", in: folder)
            #expect(run.status == 0, "\(run)")
            let requests = seen.withLock { $0 }
            let asked = try #require(requests.first)
            #expect(asked.path == "/federation/credentials?account_id=123456789012&role_name=Backup")
            #expect(asked.headers["x-amz-sso_bearer_token"] == "LOGIN")
            let sent = try #require(requests.first { $0.method == "PUT" })
            #expect(sent.headers["authorization"]?.contains("Credential=ROLEKEY/") == true)
            #expect(sent.headers["x-amz-security-token"] == "ROLETOKEN")
        }
    }

    @Test("An expired SSO login is reported with the command that renews it")
    func endedLogin() throws {
        try withFolder(files: 1) { folder in
            let server = try AnsweringServer { _, _ in .failure(500, code: "Nobody") }
            defer { server.close() }
            let run = try push(server, config: Self.profile, loginEnds: "2020-01-01T00:00:00Z", in: folder)
            #expect(run.status == 1, "\(run)")
            #expect(run.messages.contains("aws sso login --profile work"), "\(run)")
            #expect(server.count == 0)
        }
    }
}
