import LFSSigningServer
import LFSSyncServer
import Logging

extension HealthCheck {
    /// Returns a check that the database answers.
    static func database(_ database: any SQLDatabase, logger: Logger) -> HealthCheck {
        HealthCheck("database", logger: logger) {
            do {
                try await database.read { try $0.query("SELECT 1", arguments: []) { _ in false } }
            } catch let failure as SQLFailure {
                throw HealthFailure(message: "The database does not answer (\(failure.code.rawValue)).", cause: failure)
            }
        }
    }

    /// Returns a check that the database has the tables of the schema.
    ///
    /// A newer server may have added to them in the meantime. The check passes then, because this server continues to
    /// serve during the upgrade, unless the database needs a newer server.
    static func migrations(_ store: SyncStore, logger: Logger) -> HealthCheck {
        HealthCheck("migrations", logger: logger, lifetime: .seconds(15)) {
            do {
                guard try await !store.pending().isEmpty else { return }
            } catch let error as SyncStoreError where error.code == .newerServer {
                throw HealthFailure(message: "The database needs a newer server.", cause: error)
            } catch let error as SyncStoreError where error.code != .drift {
                return
            } catch {
                throw HealthFailure(message: "The tables cannot be checked.", cause: error)
            }
            throw HealthFailure(message: "The database lacks tables or columns. Restart the server.")
        }
    }

    /// Returns a check that the storage answers.
    static func storage(_ signing: SigningService, logger: Logger) -> HealthCheck {
        HealthCheck("storage", logger: logger) {
            do {
                try await signing.checkStorage()
            } catch {
                throw HealthFailure(message: "The storage does not answer.", cause: error)
            }
        }
    }

    /// Returns a check that each disk has more free space than the reserve.
    static func disk(_ disks: [DiskSpace], reserve: Int64, logger: Logger) -> HealthCheck {
        HealthCheck("disk", logger: logger) {
            for disk in disks { try disk.requireRoom(reserve) }
        }
    }
}
