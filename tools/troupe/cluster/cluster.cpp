// troupe cluster: what the processes of a cluster need before they start.
#include "cluster/links/certificates.hpp"
#include "tools/troupe/cluster/definitions.hpp"
#include "tools/troupe/json_lines.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <iostream>

namespace troupe::cli {

namespace {

constexpr const char* ca_passphrase = "TROUPE_CA_PASSPHRASE";
constexpr const char* key_passphrase = "TROUPE_TLS_PASSPHRASE";

cluster::wall_time now() {
  return std::chrono::system_clock::now();
}

auto add_ca_dir(CLI::App& command) {
  auto dir = std::make_shared<std::string>();
  command.add_option("--dir", *dir, "The directory of the CA: ca.pem and ca.key")->required();
  return dir;
}

// ---- init-ca ------------------------------------------------------------------------------------

int init_ca(const std::filesystem::path& dir, unsigned days, bool json) {
  cluster::ca_order order{.days = days,
                          .secret = cluster::passphrase::from_environment(ca_passphrase).value()};
  cluster::init_ca(dir, order, now()).value();
  auto certificate = (dir / "ca.pem").string(), key = (dir / "ca.key").string();
  if (json)
    print_line(json_line("ca", {{"certificate", to_json(certificate)}, {"key", to_json(key)}}));
  else
    std::cout << "made " << certificate << ", for every process, and " << key
              << ", which stays here: anybody who has it can join\n";
  return 0;
}

void add_init_ca(CLI::App& cluster, chosen_command& chosen) {
  auto* command = cluster.add_subcommand(
    "init-ca", "Make a private CA for one cluster: every process with a certificate of it is "
               "trusted. TROUPE_CA_PASSPHRASE, or the file that TROUPE_CA_PASSPHRASE_FILE names, "
               "encrypts its key");
  auto dir = add_ca_dir(*command);
  auto days = std::make_shared<unsigned>(limits::cluster_certificate_days_max);
  command->add_option("--days", *days, "How long the certificate is valid")
    ->capture_default_str()
    ->check(CLI::Range(1u, limits::cluster_certificate_days_max));
  command->add_flag("--json", chosen.json, "Print one JSON object");
  command->callback([&chosen, dir, days] {
    chosen.run = [&chosen, dir, days] { return init_ca(*dir, *days, chosen.json); };
  });
}

// ---- issue-cert ---------------------------------------------------------------------------------

int issue_cert(const std::string& dir, cluster::certificate_order& order, bool json) {
  order.ca_secret = cluster::passphrase::from_environment(ca_passphrase).value();
  order.secret = cluster::passphrase::from_environment(key_passphrase).value();
  auto issued = cluster::issue_cert(dir, order, now()).value();
  auto certificate = issued.certificate.string(), key = issued.key.string();
  if (json)
    print_line(json_line("certificate", {{"name", to_json(order.name)},
                                         {"certificate", to_json(certificate)},
                                         {"key", to_json(key)}}));
  else
    std::cout << "made " << certificate << " and " << key << " for " << order.days << " days\n";
  return 0;
}

void add_issue_cert(CLI::App& cluster, chosen_command& chosen) {
  auto* command = cluster.add_subcommand(
    "issue-cert", "Make NAME.pem and NAME.key for one process, signed by the CA. "
                  "TROUPE_TLS_PASSPHRASE, or the file that TROUPE_TLS_PASSPHRASE_FILE names, "
                  "encrypts the key");
  auto order = std::make_shared<cluster::certificate_order>();
  command->add_option("NAME", order->name, "The process")->required();
  auto dir = add_ca_dir(*command);
  command
    ->add_option("--host", order->hosts, "A host name or address of the process; may be repeated")
    ->take_all()
    ->expected(1)
    ->allow_extra_args(false);
  command->add_option("--days", order->days, "How long the certificate is valid")
    ->capture_default_str()
    ->check(CLI::Range(1u, limits::cluster_certificate_days_max));
  command->add_flag("--json", chosen.json, "Print one JSON object");
  command->callback([&chosen, dir, order] {
    chosen.run = [&chosen, dir, order] { return issue_cert(*dir, *order, chosen.json); };
  });
}

} // namespace

void define_cluster(CLI::App* cluster, chosen_command& chosen) {
  cluster->require_subcommand(1);
  add_init_ca(*cluster, chosen);
  add_issue_cert(*cluster, chosen);
  add_cluster_peers(*cluster, chosen);
}

} // namespace troupe::cli
