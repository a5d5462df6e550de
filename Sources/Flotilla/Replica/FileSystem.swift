import CLinux
import FoundationEssentials
import Glibc

/// Whether SQLite's write-ahead log works where a file lies.
///
/// "All processes using a database must be on the same host computer; WAL does not work over a
/// network filesystem" (sqlite.org/wal.html): programs meet in memory that they map from a file.
enum FileSystem: Sendable, Equatable {
  /// As far as is known.
  case fit
  /// The file lies on another machine, or is shared with one.
  case network(String)
  /// A program gives the file, and it is not known whether that shares memory.
  case userSpace(String)
  /// A layer of a container: others see another file.
  case layer

  /// File systems whose files others change, too, by the number that statfs(2) gives.
  private static let networks: [UInt32: String] = [
    0x6969: "NFS", 0xFF53_4D42: "SMB", 0xFE53_4D42: "SMB", 0x517B: "SMB", 0x0102_1997: "9p",
    0x5346_414F: "AFS", 0x6B41_4653: "AFS", 0x7375_7245: "Coda", 0x564C: "NCP",
    0x00C3_6400: "Ceph", 0x786F_4256: "VirtualBox", 0x0116_1970: "GFS2", 0x7461_636F: "OCFS2",
    0x0BD0_0BD0: "Lustre", 0x4750_4653: "GPFS", 0x1983_0326: "BeeGFS", 0x2003_0528: "OrangeFS",
  ]
  private static let fuse: UInt32 = 0x6573_5546
  private static let overlay: UInt32 = 0x794C_7630

  /// Programs behind FUSE that bring files from another machine, as the table of mounts has them.
  private static let remoteTypes: Set<String> = [
    "virtiofs", "fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.s3backer", "fuse.gcsfuse",
    "fuse.goofys", "fuse.davfs", "fuse.davfs2", "fuse.curlftpfs", "fuse.glusterfs",
    "fuse.ceph-fuse", "fuse.ceph", "fuse.smbnetfs", "fuse.gvfsd-fuse", "fuse.kio-fuse",
    "fuse.vmhgfs-fuse", "fuse.juicefs", "fuse.JuiceFS", "fuse.mfs", "fuse.seaweedfs", "fuse.nfs",
    "fuse.lizardfs", "fuse.google-drive-ocamlfuse", "fuse.onedriver", "fuse.grpcfuse",
    "fuse.prl_fs",
  ]

  /// By the number of statfs(2), and for FUSE by the type in the table of mounts.
  init(number: UInt32, type: String?) {
    if let name = Self.networks[number] {
      self = .network(name)
    } else if number == Self.overlay {
      self = .layer
    } else if number != Self.fuse || type == "fuseblk" {
      // A disk of this machine by ntfs-3g and the like.
      self = .fit
    } else if let type, Self.remoteTypes.contains(type) {
      self = .network(type.hasPrefix("fuse.") ? String(type.dropFirst(5)) : type)
    } else {
      self = .userSpace(type ?? "FUSE")
    }
  }

  /// Of the file at a path; fit if that cannot be told.
  init(at path: String) {
    var status = statfs()
    guard statfs(path, &status) == 0 else {
      self = .fit
      return
    }
    let table = (try? String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)) ?? ""
    var file = stat()
    let device = stat(path, &file) == 0 ? Self.text(device: UInt64(file.st_dev)) : ""
    self.init(
      number: UInt32(truncatingIfNeeded: status.f_type), type: Self.type(of: device, in: table))
  }

  static let move =
    "Put the database on a disk of this machine; Flotilla brings it to the others."

  static func networkDrive(_ path: String, _ name: String) -> String {
    "\(path) is on a network drive (\(name)), where SQLite cannot keep programs apart"
  }

  /// Refuses to begin where programs of several machines would write one file without seeing each
  /// other's locks: that ends with a damaged one.
  static func refuseNetwork(_ path: String, _ system: FileSystem) throws(FlotillaError) {
    guard case .network(let name) = system else { return }
    throw FlotillaError(
      .refused, networkDrive(path, name),
      remedy: "\(move) Why: \(Documentation.page("limits.md")), Network drives.")
  }

  /// Whether the file system under a path, or under the folder of a file that is not there, is
  /// mounted so that nobody may write.
  ///
  /// "ST_RDONLY: This filesystem is mounted read-only" (statvfs(3)).
  static func isReadOnly(at path: String) -> Bool {
    let place = access(path, F_OK) == 0 ? path : Sidecar.folder(of: Sidecar.absolute(path))
    var status = statvfs()
    return statvfs(place, &status) == 0 && status.f_flag & UInt(ST_RDONLY) != 0
  }

  /// "(3) major:minor: the value of st_dev for files on this filesystem … (8) separator: the end of
  /// the optional fields is marked by a single hyphen. (9) filesystem type"
  /// (proc_pid_mountinfo(5)).
  static func type(of device: String, in table: String) -> String? {
    for line in table.split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard fields.count > 2, fields[2] == device, let hyphen = fields.firstIndex(of: "-"),
        hyphen + 1 < fields.count
      else { continue }
      return String(fields[hyphen + 1])
    }
    return nil
  }

  /// As makedev(3) has packed it.
  static func text(device: UInt64) -> String {
    let major = device >> 8 & 0xFFF | device >> 32 & ~0xFFF
    let minor = device & 0xFF | device >> 12 & ~0xFF & 0xFFFF_FFFF
    return "\(major):\(minor)"
  }
}
