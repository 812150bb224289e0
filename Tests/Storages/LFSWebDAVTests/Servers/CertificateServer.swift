import Foundation
import TestSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// An nginx with WebDAV that requires a certificate of an authority from each client.
struct CertificateServer {
    let port: UInt16
    private let folder: URL

    private static let program = "/usr/sbin/nginx"

    private struct Failure: Error {
        let reason: String
    }

    /// True on a machine with nginx and its module for PROPFIND.
    static let isAvailable =
        FileManager.default.isExecutableFile(atPath: program)
        && FileManager.default.fileExists(atPath: "/usr/lib/nginx/modules/ngx_http_dav_ext_module.so")
        && Machine.has("openssl")

    var url: URL {
        get throws {
            guard let url = URL(string: "https://127.0.0.1:\(port)/dav") else { throw Failure(reason: "\(port)") }
            return url
        }
    }

    /// Starts the server, and returns when it listens.
    init(_ identity: TestAuthority.Identity, requiring authority: TestAuthority, in folder: URL) async throws {
        self.folder = folder
        for name in ["root/dav", "temporary"] {
            try FileManager.default.createDirectory(at: folder.child(name), withIntermediateDirectories: true)
        }
        port = try ReservedPort().number
        let text = Self.configuration(port, identity: identity, authority: authority, folder: folder)
        try Data(text.utf8).write(to: folder.child("nginx.conf"))
        // The command ends when the server listens.
        guard try await ToolRun(Self.program, arguments: Self.files(folder)).finish() == 0 else {
            throw Failure(reason: try String(contentsOf: folder.child("error.log"), encoding: .utf8))
        }
    }

    /// Stops the server, and returns the statuses of its replies.
    func stop() async throws -> [String] {
        _ = try await ToolRun(Self.program, arguments: ["-s", "quit"] + Self.files(folder)).finish()
        while FileManager.default.fileExists(atPath: folder.child("nginx.pid").path) {
            try Task.checkCancellation()
            await Task.yield()
        }
        let log = try String(contentsOf: folder.child("access.log"), encoding: .utf8)
        return log.split(separator: "\n").map(String.init)
    }

    private static func files(_ folder: URL) -> [String] {
        ["-e", folder.child("error.log").path, "-c", folder.child("nginx.conf").path]
    }

    private static func configuration(
        _ port: UInt16, identity: TestAuthority.Identity, authority: TestAuthority, folder: URL
    ) -> String {
        let path = folder.path
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(path)/temporary/\($0);" }.joined(separator: " ")
        return """
            load_module /usr/lib/nginx/modules/ngx_http_dav_ext_module.so;
            pid \(path)/nginx.pid; error_log \(path)/error.log warn; \(geteuid() == 0 ? "user root;" : "")
            events { worker_connections 64; }
            http {
              log_format status $status; access_log \(path)/access.log status; \(temporary)
              ssl_certificate \(identity.certificate.path); ssl_certificate_key \(identity.key.path);
              ssl_client_certificate \(authority.certificate.path); ssl_verify_client on;
              server {
                listen 127.0.0.1:\(port) ssl; root \(path)/root;
                location /dav/ {
                  dav_methods PUT DELETE MKCOL COPY MOVE; dav_ext_methods PROPFIND OPTIONS; create_full_put_path off;
                }
              }
            }

            """
    }
}
